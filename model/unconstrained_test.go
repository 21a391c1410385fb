package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLogPrior compares LogPrior, up to one constant for all points and all a, with
//
//	log p(a) + log p(φ | a) − log p(a | φ),
//
// by the densities of conjugate at free scales a and the Jacobian: that it is the same for all
// a proves the law a | φ of Mixture, and its value log p(φ). Its gradient is compared with
// central differences.
func TestLogPrior(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, s := range shapes {
		for _, prior := range variousPriors(s, rng) {
			logPrior(t, s, prior, rng)
		}
	}
}

func logPrior(t *testing.T, s Shape, prior *Prior, rng *rand.Rand) {
	{
		c := NewCoordinates(s, prior)
		mixture := NewMixture(prior)

		x := NewParams(s)
		phi, grad := make([]float64, c.Dim()), make([]float64, c.Dim())
		constant := math.NaN()
		for range 5 {
			y := randomParams(s, rng)
			if !c.Unconstrain(phi, y) {
				t.Fatal("T is not positive definite")
			}
			c.Constrain(x, phi)
			for i, v := range y.Tau {
				if math.Abs(v-x.Tau[i]) > 1e-13*(1+math.Abs(v)) {
					t.Fatalf("%+v: T %v came back as %v", s, y.Tau, x.Tau)
				}
			}
			logp := c.LogPrior(grad, x)
			for range 3 {
				mixture.DrawPrior(rng)
				want := mixture.logJoint(x) + math.Log(x.Sigma2)
				for i := range s.P {
					want += float64(s.P+1) * math.Log(c.l[i*s.P+i])
				}
				if math.IsNaN(constant) {
					constant = logp - want
				}
				if d := logp - want - constant; math.Abs(d) > 1e-9*(1+math.Abs(logp)) {
					t.Errorf("%+v: log prior is off by %g", s, d)
				}
			}

			for i := range phi {
				const h = 1e-5
				at := func(d float64) float64 {
					moved := append([]float64(nil), phi...)
					moved[i] += d
					c.Constrain(x, moved)
					return c.LogPrior(make([]float64, len(grad)), x)
				}
				if d := (at(h) - at(-h)) / (2 * h); math.Abs(d-grad[i]) > 1e-5*(1+math.Abs(d)) {
					t.Errorf("%+v: coordinate %d of the prior's gradient is %g, differences say %g", s, i, grad[i], d)
				}
			}
		}
	}
}
