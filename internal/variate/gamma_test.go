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
