package vi

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
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
// may be twins, or of p numbers.
func models(p int, twins bool) map[string]Model {
	rng := rand.New(rand.NewPCG(8, 0))
	v, groups := make([]float64, 30*((p+1)/2)), make([]int, 30)
	normal(v, rng)
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
		"mixture":      Mixture(v, (p+1)/2, 5, 1),
	}
}

func TestGradients(t *testing.T) {
	for name, m := range models(4, false) {
		rng := rand.New(rand.NewPCG(9, 0))
		theta := make([]float64, m.Dim())
		for range 5 {
			normal(theta, rng)
			if err := CheckGradients(m, theta, 0, 7, 29); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := len(m.Names()); got == 0 {
			t.Errorf("%s has no names", name)
		}
		shown := make([]float64, len(m.Names()))
		m.Constrain(shown, theta)
		grad := make([]float64, m.Dim())
		if n := testing.AllocsPerRun(10, func() { m.LogLik(grad, theta, 3); m.LogPrior(grad, theta) }); n > 0 {
			t.Errorf("%s allocates", name)
		}
	}
}

// wrong has a mistake in one entry of a gradient.
type wrong struct {
	Model
	entry int
	prior bool
}

func (w wrong) LogLik(grad, theta []float64, i int) float64 {
	l := w.Model.LogLik(grad, theta, i)
	if !w.prior {
		grad[w.entry] *= 1.001
	}
	return l
}

func (w wrong) LogPrior(grad, theta []float64) float64 {
	l := w.Model.LogPrior(grad, theta)
	if w.prior {
		grad[w.entry] += 0.01
	}
	return l
}

func TestCheckerNamesTheParameter(t *testing.T) {
	for name, m := range models(4, false) {
		theta := make([]float64, m.Dim())
		normal(theta, rand.New(rand.NewPCG(10, 0)))
		err := CheckGradients(wrong{m, 1, true}, theta, 3)
		if err == nil || !strings.Contains(err.Error(), "the log prior: the derivative in parameter 1 ") {
			t.Errorf("%s: %v", name, err)
		}
		err = CheckGradients(wrong{m, 2, false}, theta, 3)
		if err == nil || !strings.Contains(err.Error(), "record 3: the derivative in parameter 2 ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The mixture's weights are positive and sum to 1, and are equal in the middle.
func TestSimplex(t *testing.T) {
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
