package vi

import (
	"math"
	"testing"
)

// Laws found in another way have their moments, and draws of them: of 4n, the mean is
// within 4.5σ/√(4n) (7e-6).
func TestNewFit(t *testing.T) {
	f := NewFit(Logistic(&Rows{P: 2}, 1), []float64{3, -1}, []float64{0.5, 2})
	mean, sd := f.Moments()
	for j, want := range [][2]float64{{3, 0.5}, {-1, 2}} {
		if mean[j] != want[0] || math.Abs(sd[j]-want[1]) > 1e-15 {
			t.Errorf("parameter %d: N(%v, %v²), want %v", j, mean[j], sd[j], want)
		}
	}
	const n = 1000
	sum := 0.
	for _, chain := range f.Draws(n, 1).Chains {
		for i := 1; i < len(chain); i += 2 {
			sum += chain[i]
		}
	}
	if got := sum / (4 * n); math.Abs(got+1) > 4.5*2/math.Sqrt(4*n) {
		t.Errorf("draws have mean %v, not -1", got)
	}
}
