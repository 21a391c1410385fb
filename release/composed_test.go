package release

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// Of pure ε, μ and ρ are no less than what the attack by randomised response, at which ε is attained, asks
// for; of Gaussian noise they are those of its sensitivity over its scale.
func TestComposable(t *testing.T) {
	r := func(kind Kind, epsilon, delta, sensitivity, scale float64) *Release {
		x := example()
		x.Privacy = &Privacy{epsilon, delta, ReplaceOne}
		x.Noise = Noise{Kind: kind, Scale: scale, Sensitivity: sensitivity}
		return x
	}
	for _, epsilon := range []float64{1e-6, 0.1, 1, 5, 15.9, 16.1, 100} {
		c := must.Get(r(Laplace, epsilon, 0, 9.375, 9.375/epsilon*1.001).Composable())(t)
		// G_μ at α = 1/(1 + e^ε) is Φ(Φ⁻¹(1−α) − μ), which must not be above α: so Φ(μ/2) ≥ e^ε/(1+e^ε).
		if tail := math.Erfc(c.Mu/2/math.Sqrt2) / 2; tail > 1/(1+math.Exp(epsilon)) || c.Rho < epsilon*epsilon/2 || epsilon < 16 && c.Mu > 2*math.Sqrt(math.Pi/8)*epsilon*(1+1e-6) {
			t.Errorf("ε = %v: %+v", epsilon, c)
		}
	}
	c, err := r(Gaussian, 1, 1e-5, 4, 20).Composable()
	if err != nil || math.Abs(c.Mu-0.2) > 1e-8 || math.Abs(c.Rho-0.02) > 1e-9 {
		t.Errorf("%+v, %v", c, err)
	}
	person := r(Gaussian, 1, 1e-5, 4, 200)
	person.Privacy.Neighbours, person.NNoise = AddRemove, 200
	person.Persons = &Persons{Rows: PersonRows, Most: 5, Scale: 10, Epsilon: 0.1}
	c, err = person.Composable()
	ratio := 5 * math.Hypot(math.Sqrt(15)/200, 1./200)
	if err != nil || math.Abs(c.Rho-(ratio*ratio+0.01)/2) > 1e-9 || c.Mu < ratio {
		t.Errorf("%+v, %v", c, err)
	}
	silent := r(Laplace, 1, 0, 0, 9)
	if _, err := silent.Composable(); err == nil {
		t.Error("what is taken on trust composes")
	}
}
