package variate

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

const sample = 200_000

func TestGamma(t *testing.T) {
	rng := source()
	for _, shape := range []float64{.05, .3, .99, 1, 1.5, 3, 20, 1e4} {
		law := distuv.Gamma{Alpha: shape, Beta: 1}
		x := draws(sample, func() float64 { return Gamma(shape, rng) })
		averages(t, fmt.Sprint("gamma ", shape), x, shape, math.Sqrt(shape))
		follows(t, fmt.Sprint("gamma ", shape), x, law.CDF)
	}
	for _, dof := range []float64{.5, 1, 7.5} {
		x := draws(sample, func() float64 { return Chi2(dof, rng) })
		follows(t, fmt.Sprint("chi-squared ", dof), x, distuv.ChiSquared{K: dof}.CDF)
	}
	law := distuv.InverseGamma{Alpha: 3, Beta: 2}
	x := draws(sample, func() float64 { return InverseGamma(3, 2, rng) })
	follows(t, "inverse gamma", x, law.CDF)
}

// TestLogGamma uses P(log G < x) = e^{ax}/Γ(a+1)·(1 + O(e^x)) for shape a far
// below 1, with the series' first two terms, and the exact cdf elsewhere.
func TestLogGamma(t *testing.T) {
	rng := source()
	for _, a := range []float64{1e-300, 1e-8, .001, .02, .5, 2} {
		law := distuv.Gamma{Alpha: a, Beta: 1}
		lg, _ := math.Lgamma(a + 1)
		// The cdf of a·log G keeps its scale whatever a is.
		cdf := func(y float64) float64 {
			x := y / a
			if x < -30 {
				return math.Exp(y-lg) * (1 - math.Exp(x)*a/(a+1))
			}
			return law.CDF(math.Exp(x))
		}
		x := draws(sample, func() float64 { return a * LogGamma(a, rng) })
		for _, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("shape %g: drew %g", a, v)
			}
		}
		if a > 1e-6 { // below, gonum's cdf is not accurate and all mass is at x < −30 anyway
			follows(t, fmt.Sprint("log gamma ", a), x, cdf)
		} else {
			follows(t, fmt.Sprint("log gamma ", a), x, func(y float64) float64 { return math.Exp(min(y, 0)) })
		}
	}
}

func TestGammaExtremes(t *testing.T) {
	rng := source()
	for _, shape := range []float64{1e-300, 1e-5, 1e15, 1e300} {
		for range 1000 {
			if g := Gamma(shape, rng); !(g >= 0 && g <= math.MaxFloat64) {
				t.Fatalf("gamma %g: drew %g", shape, g)
			}
		}
	}
	for _, shape := range []float64{0, -1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("shape %g: no panic", shape)
				}
			}()
			Gamma(shape, rng)
		}()
	}
}
