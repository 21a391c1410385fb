package vi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
)

// simulatedRows are n rows of p standard normal covariates with responses by draw.
func simulatedRows(n, p int, seed uint64, draw func(eta float64, rng *rand.Rand) float64) *Rows {
	rng := rand.New(rand.NewPCG(seed, 0))
	r := &Rows{P: p, X: make([]float64, n*p), Y: make([]float64, n)}
	normal(r.X, rng)
	for i := range r.Y {
		eta := 0.
		for j, x := range r.row(i) {
			eta += x * float64(1-2*(j%2)) / math.Sqrt(float64(p))
		}
		r.Y[i] = draw(eta, rng)
	}
	return r
}

func coin(eta float64, rng *rand.Rand) float64 {
	if rng.Float64() < 1/(1+math.Exp(-eta)) {
		return 1
	}
	return 0
}

func plusNormal(eta float64, rng *rand.Rand) float64 { return eta + 0.5*rng.NormFloat64() }

// models are those that are built in, of 30 records with p covariates, the first two of which
// may be twins; one hides its predictor.
func models(p int, twins bool) map[string]Model {
	groups := make([]int, 30)
	for i := range groups {
		groups[i] = i % 3
	}
	rows := func(seed uint64, draw func(float64, *rand.Rand) float64) *Rows {
		r := simulatedRows(30, p, seed, draw)
		for i := 0; twins && p > 1 && i < len(r.X); i += p {
			r.X[i+1] = r.X[i]
		}
		return r
	}
	return map[string]Model{
		"logistic":     Logistic(rows(1, coin), 2),
		"linear":       LinearRegression(rows(2, plusNormal), 3, 2, 1),
		"hierarchical": Hierarchical(rows(3, coin), groups, []float64{1, 0, 0.5, 1, -1, 2}, 2, 4),
		"no predictor": struct{ Model }{Logistic(rows(4, coin), 1)},
	}
}

// Gradients are those by central differences: of a step h, with errors of h² times a third
// derivative and of rounding.
func TestGradients(t *testing.T) {
	for name, m := range models(4, false) {
		rng := rand.New(rand.NewPCG(9, 0))
		theta, grad, scratch := make([]float64, m.Dim()), make([]float64, m.Dim()), make([]float64, m.Dim())
		check := func(what string, f func(grad, theta []float64) float64) {
			f(grad, theta)
			want := fd.Gradient(nil, func(x []float64) float64 { return f(scratch, x) }, theta, &fd.Settings{Formula: fd.Central, Step: 1e-5})
			for j, g := range grad {
				if !(math.Abs(g-want[j]) <= 1e-5*max(1, floats.Norm(grad, math.Inf(1)))) {
					t.Errorf("%s, %s: the derivative in parameter %d is %v, and its gradient has %v", name, what, j, want[j], g)
				}
			}
		}
		for range 5 {
			normal(theta, rng)
			check("prior", m.LogPrior)
			for _, i := range []int{0, 7, 29} {
				check(fmt.Sprint("record ", i), func(grad, theta []float64) float64 { return m.LogLik(grad, theta, i) })
				l, ok := m.(Linear)
				for j := range grad {
					if want := 0.; ok {
						if x := l.Covariates(i); j < len(x) {
							want = l.Slope(i, floats.Dot(x, theta[:len(x)])) * x[j]
						}
						if math.Abs(grad[j]-want) > 1e-12 {
							t.Errorf("%s: by Slope the derivative in parameter %d is %v, and the gradient of LogLik has %v", name, j, want, grad[j])
						}
					}
				}
			}
		}
		shown := make([]float64, len(m.Names()))
		if len(shown) == 0 {
			t.Errorf("%s has no names", name)
		}
		m.Constrain(shown, theta)
		if n := testing.AllocsPerRun(10, func() { m.LogLik(grad, theta, 3); m.LogPrior(grad, theta) }); n > 0 {
			t.Errorf("%s allocates", name)
		}
	}
}
