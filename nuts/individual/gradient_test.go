package individual

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// cases are all forms of the model: p, noise, intercept, clamping.
func cases(t *testing.T, test func(t *testing.T, s model.Shape, kind release.Kind, clamping bool)) {
	for _, p := range []int{1, 2, 3} {
		for _, kind := range []release.Kind{release.Laplace, release.Gaussian} {
			for _, intercept := range []bool{true, false} {
				for _, clamping := range []bool{false, true} {
					t.Run(fmt.Sprintf("p=%d/%s/intercept=%v/clamping=%v", p, kind, intercept, clamping), func(t *testing.T) {
						test(t, model.Shape{P: p, Intercept: intercept}, kind, clamping)
					})
				}
			}
		}
	}
}

// TestGradient compares the gradient with central differences of the density
// with Laplace's kink rounded off.
func TestGradient(t *testing.T) {
	cases(t, func(t *testing.T, s model.Shape, kind release.Kind, clamping bool) {
		rng := rand.New(rand.NewPCG(1, uint64(s.P)))
		for _, n := range []float64{1, 2, 3, 4, 30} {
			prior := randomPrior(t, s, rng)
			f := newDensity(invented(s, n, 3, kind), prior, clamping)
			x, grad, scratch := make([]float64, f.Dim()), make([]float64, f.Dim()), make([]float64, f.Dim())
			value := func(x []float64) float64 {
				logp := must.Get(f.LogDensity(scratch, x))(t)
				return logp + modeltest.Smoothing(f.obs, f.s, 1)
			}
			for range 3 {
				for i := range x {
					x[i] = 0.7 * rng.NormFloat64()
					if i < f.lead()-f.m {
						x[i] /= f.unit
					}
				}
				value(x)
				f.noise.Reach(f.s)
				must.Get(f.LogDensity(grad, x))(t)
				want := fd.Gradient(nil, value, x, &fd.Settings{Formula: fd.Central, Step: 1e-5})
				for i, g := range grad {
					if !(math.Abs(g-want[i]) < 1e-5*(1+math.Abs(want[i])+math.Abs(value(x)))) {
						t.Errorf("n = %g: derivative %d is %g, by differences %g", n, i, g, want[i])
					}
				}
			}
		}
	})
}
