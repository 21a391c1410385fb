package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
)

// The mixture's gradients are those by central differences, and its weights are positive and
// sum to 1, and are equal in the middle.
func TestMixture(t *testing.T) {
	v, rng := make([]float64, 60), rand.New(rand.NewPCG(9, 0))
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	m := newMixture(v, 2, 5, 1)
	theta, grad, scratch := make([]float64, m.Dim()), make([]float64, m.Dim()), make([]float64, m.Dim())
	for i := range 30 {
		for j := range theta {
			theta[j] = rng.NormFloat64()
		}
		for what, f := range map[string]func(grad, theta []float64) float64{
			"prior": m.LogPrior, fmt.Sprint("record ", i): func(grad, theta []float64) float64 { return m.LogLik(grad, theta, i) },
		} {
			f(grad, theta)
			want := fd.Gradient(nil, func(x []float64) float64 { return f(scratch, x) }, theta, &fd.Settings{Formula: fd.Central, Step: 1e-5})
			if !floats.EqualApprox(grad, want, 1e-5*max(1, floats.Norm(want, math.Inf(1)))) {
				t.Errorf("%s: %v, by differences %v", what, grad, want)
			}
		}
	}
	s := newSimplex(4)
	for _, u := range [][]float64{{0, 0, 0}, {3, -2, 0.5}, {-40, 30, 700}} {
		s.set(u)
		sum := 0.
		for _, l := range s.log {
			if u[0] == 0 && math.Abs(l-math.Log(0.25)) > 1e-15 {
				t.Errorf("the middle has a weight of %v", math.Exp(l))
			}
			sum += math.Exp(l)
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("weights of %v sum to %v", u, sum)
		}
	}
}
