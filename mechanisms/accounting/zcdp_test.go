package accounting

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// ρ-zCDP has no smaller ε than Gaussian noise of μ = √(2ρ), which is ρ-zCDP, and no larger one
// than Bun & Steinke's ρ + 2√(ρ ln(1/δ)).
func TestZCDPEpsilon(t *testing.T) {
	for _, rho := range []float64{1e-8, 1e-3, 0.05, 0.5, 3, 100} {
		for _, delta := range []float64{1e-3, 1e-6, 1e-12, 1e-100} {
			got := must.Get(ZCDPEpsilon(rho, delta))(t)
			least := must.Get(Epsilon(1, delta, math.Sqrt(2*rho)))(t)
			if most := rho + 2*math.Sqrt(rho*math.Log(1/delta)); got < least || got > most*(1+1e-9) {
				t.Errorf("ρ = %v, δ = %v: ε = %v, not in [%v, %v]", rho, delta, got, least, most)
			}
		}
	}
	for _, bad := range [][2]float64{{0, 0.1}, {-1, 0.1}, {math.Inf(1), 0.1}, {math.NaN(), 0.1}, {1, 0}, {1, 1}} {
		if _, err := ZCDPEpsilon(bad[0], bad[1]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}
