package gibbs

import (
	"context"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model/modeltest"
)

// TestGoldens compares the default kernel with Stan at ESS ≥ 5000: means and
// quantiles within 0.05 reference sd and sds within 3 %, both beyond four combined
// Monte Carlo errors (false alarms of about 6e-5 a comparison even at tolerance 0). In
// short form ESS ≥ 1000.
func TestGoldens(t *testing.T) {
	ess := float64(testsize.Of(1000, 5000))
	for i, g := range modeltest.Goldens(t) {
		if testing.Short() && i%4 > 0 {
			continue
		}
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			plan := mcmc.Plan{Chains: 4, Warmup: testsize.Of(400, 1000), ESS: ess, Seed: 1}
			d := must.Get(Method{Moments: Update}.Sample(context.Background(), g.Problem, plan))(t)
			g.Compare(t, d, 0.05)
			if worst, j := d.MinESS(0); worst < ess {
				t.Errorf("%s: the effective sample size is %.0f", d.Names[j], worst)
			}
		})
	}
}
