package exact

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/model"
)

// TestCovariatesNearlyConstant: where x hardly varies and its free scale follows, Ψ_n falls as D² and log p rises as −n log D,
// whatever the digits that Ψ₀ has above it: else chains fall into what rounding leaves.
func TestCovariatesNearlyConstant(t *testing.T) {
	const n, root = 1000., 1e-2
	c := newCovariates(model.DefaultPrior(model.Shape{P: 1, Intercept: true}))
	at := func(d float64) float64 {
		s := &statistics{m: 2, n: n, d: []float64{d, 0, 0.1, 0.3}, w: []float64{d * d, 0, 0.1 * d, 0.1}, mean: []float64{0.9, 0.2}}
		logp, ok := c.value(s, []float64{0.5}, []float64{math.Log(0.5 * c.prior.Scale[0] / (d * d))})
		if !ok {
			t.Fatalf("D = %g: not positive definite", d)
		}
		return logp
	}
	for d := root; d > 1e-12; d /= 10 {
		if got, want := at(d/10)-at(d), n*math.Ln10; math.Abs(got-want) > 0.01 {
			t.Errorf("from D = %g to a tenth log p rises by %g, want %g", d, got, want)
		}
	}
}
