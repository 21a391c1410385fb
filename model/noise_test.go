package model

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// TestSlopes: the slope of normal noise is the derivative of its log density within 4 σ,
// and after Reach within 4 σ beyond the residual; farther out it stays within 1 of that. So
// is a noisy count's, whatever σ beside the rounding. Differences of h = 10⁻⁵ σ err by some
// 10⁻¹⁶|log p|/h and, where u passes from one branch to the next, h.
func TestSlopes(t *testing.T) {
	for _, sigma := range []float64{0.3, 1, 20, 1e4} {
		obs := &Observation{Kind: release.Gaussian, Z: []float64{7, 7}, Scale: []float64{sigma, sigma},
			Count: Count{Kind: release.Gaussian, Noisy: 7, Scale: sigma}}
		for _, residual := range []float64{0, -30} {
			f := NewNoise(obs)
			reach := leastReach + math.Abs(residual)
			f.Reach([]float64{7 - residual*sigma, 7})
			for u := -1.5 * reach; u <= 1.5*reach; u += reach / 64 {
				checkSlope(t, "sum", u, sigma, reach, func(s float64) (float64, float64) { return entry(f, 0, []float64{s, 7}) })
				checkSlope(t, "count", u, sigma, leastReach, f.LogCount)
			}
		}
	}
}

// entry is the log density at s and its slope in entry i.
func entry(f *Noise, i int, s []float64) (logp, slope float64) {
	g := make([]float64, len(s))
	return f.LogDensity(g, s), g[i]
}

// checkSlope compares at a residual of u σ.
func checkSlope(t *testing.T, what string, u, sigma, reach float64, law func(s float64) (float64, float64)) {
	t.Helper()
	s, h := 7-u*sigma, 1e-5*sigma
	after, _ := law(s + h)
	before, _ := law(s - h)
	_, slope := law(s)
	derivative := (after - before) / 2e-5
	slope *= sigma
	if math.Abs(derivative) > reach {
		if !(math.Abs(slope) >= reach-1e-4 && math.Abs(slope) <= reach+1 && slope*derivative > 0) {
			t.Errorf("%s, σ = %g: the slope at u = %g is %g, beyond a reach of %g", what, sigma, u, slope, reach)
		}
		return
	}
	if !(math.Abs(slope-derivative) < 1e-4*(1+math.Abs(u))) {
		t.Errorf("%s, σ = %g: the slope at u = %g is %g, the derivative %g", what, sigma, u, slope, derivative)
	}
}

// What is no number is none, and ends: a density that meets it refuses the point.
func TestBesselOfNaN(t *testing.T) {
	for _, nu := range []float64{0.5, 1, 1.5, 4} {
		if g, _ := logBesselPower(nu, math.NaN()); !math.IsNaN(g) {
			t.Errorf("ν = %v: %v", nu, g)
		}
	}
}

// TestSummedLaplace: the law of the sum of k Laplace variables of scale 1 has, by the partial fractions of (1 + t²)^−k, the
// density e^−|x| times a polynomial, of k = 2 and 3 to a constant (1 + |x|) and (3 + 3|x| + x²), and the variance 2k.
func TestSummedLaplace(t *testing.T) {
	const b = 2.5
	for k, polynomial := range map[int]func(x float64) float64{
		1: func(float64) float64 { return 1 }, 2: func(x float64) float64 { return 1 + x }, 3: func(x float64) float64 { return 3 + 3*x + x*x },
	} {
		told := &Told{Kind: release.Laplace, Counts: []float64{0}, Sums: [][]float64{{0}}, Z: []float64{0, 0, 0}, Scale: []float64{b, b, b}}
		told.summed(float64(k), false)
		noise := NewNoise(&Observation{Shape: Shape{}, Kind: told.Kind, Told: told})
		slope := make([]float64, 3)
		at := func(part int, x float64) float64 { return noise.Part(slope, []float64{x, x, x}, part) }
		for _, x := range []float64{0.1, 1, 7, -30} {
			u := math.Abs(x) / b
			want := math.Log(polynomial(u)/polynomial(0)) - u
			if got := at(1, x) - at(1, 0); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("k = %d: log p(%v) − log p(0) is %v, not %v", k, x, got, want)
			}
			if got := at(2, x) - at(2, 0); math.Abs(got+u) > 1e-6*(1+u) {
				t.Errorf("of products log p(%v) − log p(0) is %v, not %v", x, got, -u)
			}
		}
		if got := told.Variance(0); math.Abs(got-2*float64(k)*b*b) > 1e-9 {
			t.Errorf("k = %d: variance %v", k, got)
		}
	}
}
