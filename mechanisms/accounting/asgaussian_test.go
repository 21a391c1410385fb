package accounting

import (
	"math"
	"testing"
)

// At ε that are no knots the bound holds, and μ is near that of Gaussian noise with the
// same (ε, δ).
func TestAsGaussian(t *testing.T) {
	const delta = 1e-5
	for _, run := range []Training{
		{Multiplier: 6.7, Rate: 0.02, Steps: 2000, Scheme: PoissonReplaceOne},
		{Multiplier: 2.6, Rate: 0.5, Steps: 20},
		{Multiplier: 8, Rate: 0.02, Steps: 50, Scheme: FixedReplaceOne},
	} {
		c, err := run.composition()
		if err != nil {
			t.Fatal(err)
		}
		end, err := c.Epsilon(delta)
		if err != nil {
			t.Fatal(err)
		}
		mu, err := c.AsGaussian(delta)
		if err != nil {
			t.Fatal(err)
		}
		sigma, err := Sigma(end.Upper, delta, 1)
		if err != nil {
			t.Fatal(err)
		}
		if mu*sigma > 1.02 || mu*sigma < 0.9 {
			t.Errorf("%v: μ = %v, and 1/σ = %v", run, mu, 1/sigma)
		}
		for _, at := range []float64{0.01, 0.31, 0.77, 0.95, 1.1} {
			d, err := c.Delta(at * end.Upper)
			if err != nil {
				t.Fatal(err)
			}
			if g := math.Exp(logDelta(at*end.Upper, 1/mu, 1)); d.Lower > delta+(1-delta)*g {
				t.Errorf("%v: at %v δ is %v, and bounded by %v", run, at*end.Upper, d, delta+(1-delta)*g)
			}
		}
	}
}

// Nine releases of Gaussian noise are one of a third of it.
func TestAsGaussianOfGaussian(t *testing.T) {
	var c Composition
	if err := c.Gaussian(6, 1, 9); err != nil {
		t.Fatal(err)
	}
	mu, err := c.AsGaussian(1e-6)
	if err != nil || mu > 0.5*1.02 || mu < 0.49 {
		t.Errorf("μ = %v, want 0.5 (%v)", mu, err)
	}
}
