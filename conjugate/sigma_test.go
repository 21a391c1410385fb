package conjugate

import (
	"fmt"
	"math"
	"testing"
)

// TestSigmaMoments compares with closed forms, Γ at halves, where E σ and Var σ
// are elementary: a = 3/2 gives Γ(1)/Γ(3/2) = 2/√π, a = 2 gives √π/2, and
// h²(x+1) = h²(x)·((x+½)/x)² climbs from there.
func TestSigmaMoments(t *testing.T) {
	const b = 3
	for _, start := range []struct{ x, h2 float64 }{{.5, 1 / math.Pi}, {1, math.Pi / 4}} {
		h2 := start.h2
		for x := start.x; x < 300; x++ {
			d := &NIG{Mean: []float64{0}, Precision: []float64{1}, Shape: x + .5, Scale: b}
			closeTo(t, fmt.Sprint("E σ at a=", d.Shape), d.MeanSigma(), math.Sqrt(b/h2), 1e-13)
			if d.Shape > 1 {
				want := b/(d.Shape-1) - b/h2
				// The difference loses 4a units in the last place, the
				// recurrence's own error x of them.
				closeTo(t, fmt.Sprint("Var σ at a=", d.Shape), d.VarSigma(), want, 1e-12+4*d.Shape*(x+4)*0x1p-53)
			}
			r := (x + .5) / x
			h2 *= r * r
		}
	}
	// For large a, σ is nearly normal: Var σ = b/(4a²)·(1 + 15/(8a) + O(a⁻²)).
	for _, a := range []float64{1e4, 1e8, 1e15} {
		d := &NIG{Mean: []float64{0}, Precision: []float64{1}, Shape: a, Scale: b}
		closeTo(t, fmt.Sprint("Var σ at a=", a), d.VarSigma(), b/(4*a*a)*(1+15/(8*a)), 10/(a*a)+1e-14)
	}
}

func TestUndefinedMoments(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	same := func(a, b float64) bool {
		return a == b || math.Abs(a-b) < 1e-14 || math.IsNaN(a) && math.IsNaN(b)
	}
	for _, c := range []struct{ shape, theta, varTheta, mean2, var2, mean, variance float64 }{
		{.3, nan, nan, inf, nan, inf, nan},
		{.5, nan, nan, inf, nan, inf, nan},
		{.8, 1, inf, inf, nan, -1, inf},
		{1, 1, inf, inf, nan, -1, inf},
		{1.5, 1, 1, 2, inf, -1, -1},
		{2, 1, .5, 1, inf, -1, -1},
	} {
		d := &NIG{Mean: []float64{1}, Precision: []float64{2}, Shape: c.shape, Scale: 1}
		var theta, varTheta [1]float64
		d.MeanTheta(theta[:])
		d.VarTheta(varTheta[:])
		got := []float64{theta[0], varTheta[0], d.MeanSigma2(), d.VarSigma2(), d.MeanSigma(), d.VarSigma()}
		for i, want := range []float64{c.theta, c.varTheta, c.mean2, c.var2, c.mean, c.variance} {
			if want == -1 { // finite: tested above
				want = got[i]
				if math.IsNaN(want) || math.IsInf(want, 0) {
					want = 0
				}
			}
			if !same(got[i], want) {
				t.Errorf("shape %g: moment %d is %g, want %g", c.shape, i, got[i], want)
			}
		}
	}
}
