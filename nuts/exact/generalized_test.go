package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// generalizedOf is the density of an observation.
func generalizedOf(obs *model.Observation, prior *model.Prior, of family) *generalized {
	return newGeneralized(&model.Site{Observation: obs, Units: model.Identity(obs.Shape.M())}, prior, of)
}

func TestGeneralizedGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for _, p := range []int{1, 2, 4} {
		for _, intercept := range []bool{true, false} {
			for name, of := range families {
				s := model.Shape{P: p, Intercept: intercept}
				truth := model.NewParams(s)
				for j := range p {
					truth.MuX[j], truth.Tau[j*p+j] = 0.1, 0.06
				}
				for k := range truth.Theta {
					truth.Theta[k] = rng.NormFloat64()
				}
				for _, scale := range []float64{1, 30} {
					obs := observeRows(truth, s, 300, scale, of, release.Gaussian, rng)
					f := generalizedOf(obs, mixedPrior(t, s, rng), of)
					x := make([]float64, f.Dim())
					for !f.start(x, rng) {
					}
					f.Reach(x)
					grad := make([]float64, len(x))
					if _, err := f.LogDensity(grad, x); err != nil {
						t.Fatal(err)
					}
					f.Reach(x)
					if _, err := f.LogDensity(grad, x); err != nil {
						t.Fatal(err)
					}
					want := fd.Gradient(nil, func(x []float64) float64 {
						v, ok := f.value(x)
						if !ok {
							return math.NaN()
						}
						return v
					}, x, &fd.Settings{Formula: fd.Central, Step: 1e-5})
					for i, g := range grad {
						if !(math.Abs(g-want[i]) <= 1e-5*(1+math.Abs(g))*(1+scale)) {
							t.Errorf("%s p=%d intercept=%t scale %v: slope %d of %d (law %d) is %v, differences %v", name, p, intercept, scale, i, len(x), f.law(), g, want[i])
						}
					}
				}
			}
		}
	}
}

// TestGeneralizedAllocates holds a gradient to no allocation.
func TestGeneralizedAllocates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 6))
	s, of := model.Shape{P: 5, Intercept: true}, families[model.Binomial]
	truth := model.NewParams(s)
	for j := range s.P {
		truth.Tau[j*s.P+j] = 0.06
	}
	f := generalizedOf(observeRows(truth, s, 300, 10, of, release.Laplace, rng), linkPrior(s.P), of)
	x := make([]float64, f.Dim())
	for !f.start(x, rng) {
	}
	grad := make([]float64, len(x))
	if n := testing.AllocsPerRun(100, func() { f.LogDensity(grad, x) }); n > 0 {
		t.Errorf("a gradient allocates %v times", n)
	}
}
