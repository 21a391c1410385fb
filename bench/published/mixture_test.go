package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/vi"
)

// The mixture's gradients are those by central differences, and its weights are positive and
// sum to 1, and are equal in the middle.
func TestMixture(t *testing.T) {
	v, rng := make([]float64, 60), rand.New(rand.NewPCG(9, 0))
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	m := mixture(v, 2, 5, 1)
	of := vi.NewGradients(m, nil)
	theta, grad, scratch := make([]float64, m.Dim()), make([]float64, m.Dim()), make([]float64, m.Dim())
	for i := range 30 {
		for j := range theta {
			theta[j] = rng.NormFloat64()
		}
		for what, f := range map[string]func(grad, theta []float64) float64{
			"prior": of.LogPrior, fmt.Sprint("record ", i): func(grad, theta []float64) float64 { return of.LogLik(grad, theta, i) },
		} {
			f(grad, theta)
			want := fd.Gradient(nil, func(x []float64) float64 { return f(scratch, x) }, theta, &fd.Settings{Formula: fd.Central, Step: 1e-5})
			if !floats.EqualApprox(grad, want, 1e-5*max(1, floats.Norm(want, math.Inf(1)))) {
				t.Errorf("%s: %v, by differences %v", what, grad, want)
			}
		}
	}
	s, x := newSimplex(4), []float64(nil)
	weights := &vi.Model{Parameters: []vi.Parameter{{Name: "u", Size: 3}}, LogLik: func(*vi.Tape) {}, LogPrior: func(t *vi.Tape) {
		x = s.log(t, t.Param(0)).Value()
	}}
	for _, u := range [][]float64{{0, 0, 0}, {3, -2, 0.5}, {-40, 30, 700}} {
		vi.NewGradients(weights, nil).LogPrior(make([]float64, 3), u)
		sum := 0.
		for _, l := range x {
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
