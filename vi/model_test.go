package vi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/testsize"
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
// may be twins, and three more: one hides its predictor, one has covariates that follow from θ, one
// has hidden layers, wide enough for products in parts.
func models(p int, twins bool) map[string]*Model {
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
	hidden, pairs, sum := rows(4, coin), slices.Repeat([]float64{0.5, 1}, p), slices.Repeat([]float64{1}, p)
	return map[string]*Model{
		"logistic":     Logistic(rows(1, coin), 2),
		"linear":       LinearRegression(rows(2, plusNormal), 3, 2, 1),
		"hierarchical": Hierarchical(rows(3, coin), groups, []float64{1, 0, 0.5, 1, -1, 2}, 2, 4),
		"no predictor": {Records: 30, Parameters: []Parameter{{Name: "theta", Size: p}},
			LogLik: func(t *Tape) {
				t.Factor(t.Rows(hidden.X, p).Times(t.Param(0)).Linear(sum).With(t.Rows(hidden.Y, 1), func(eta, y float64) (float64, float64, float64) {
					return bernoulli(y, eta), BernoulliSlope(y, eta), eta
				}))
			}},
		"θ alone": {Records: 30, Parameters: []Parameter{{Name: "theta", Size: p}, {Name: "V", Size: p}},
			LogLik: func(t *Tape) {
				theta := t.Param(0)
				slope := t.Dense(theta.Map(squash), 1)
				t.Observe(slope.Plus(theta.Linear(pairs).LogSumExp()), hidden.Y, bernoulli, BernoulliSlope)
			}},
		"network": network(hidden, 300),
	}
}

func squash(x float64) (value, slope float64) {
	v := math.Tanh(x / 9)
	return v, (1 - v*v) / 9
}

// network has a layer of so many units that two others share, and a normalised exponential.
func network(rows *Rows, units int) *Model {
	p, first := rows.P, []float64{1, 0, 0}
	return &Model{
		Records: len(rows.Y),
		Parameters: []Parameter{{Name: "W", Size: units * p, Columns: p}, {Name: "b", Size: units}, {Name: "V", Size: 3 * units, Columns: units},
			{Name: "U", Size: units, Columns: units}, {Name: "r", Positive: true}},
		LogLik: func(t *Tape) {
			h := t.Dense(t.Rows(rows.X, p), 0).Plus(t.Param(1)).Map(squash)
			scores := t.Dense(h, 2)
			t.Factor(scores.Linear(first).Minus(scores.LogSumExp()).Times(t.Rows(rows.Y, 1)))
			z := t.Dense(h, 3).Plus(t.Param(4).Map(func(x float64) (float64, float64) { v := math.Exp(x); return v, v }))
			t.Factor(z.Times(z).Scaled(-0.01))
			t.Observe(z, rows.Y, bernoulli, BernoulliSlope)
		},
		LogPrior: func(t *Tape) {
			for k := range 5 {
				t.LogNormal(t.Param(k), 1)
			}
		},
	}
}

// Gradients are those by central differences: of a step h, with errors of h² times a third
// derivative and of rounding.
func TestGradients(t *testing.T) {
	for name, m := range models(4, false) {
		rng, of := rand.New(rand.NewPCG(9, 0)), NewGradients(m, nil)
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
		for range testsize.Of(1, 5) {
			normal(theta, rng)
			check("prior", of.LogPrior)
			for _, i := range []int{7, 0, 29}[:testsize.Of(1, 3)] {
				check(fmt.Sprint("record ", i), func(grad, theta []float64) float64 { return of.LogLik(grad, theta, i) })
			}
		}
		shown := make([]float64, len(m.Names()))
		if len(shown) != m.Dim() {
			t.Errorf("%s has %d names", name, len(shown))
		}
		m.Constrain(shown, theta)
		if n := testing.AllocsPerRun(10, func() { of.LogLik(grad, theta, 3); of.LogPrior(grad, theta) }); n > 0 && name != "network" { // whose products are in parallel
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// Gradients of the models that are built in are those derived by hand: e x for slopes, of a
// residual e or y − σ(η), (e·y/σ − 1)/2 for w = log σ²; 0 in what records do not bear on.
func TestGradientsByHand(t *testing.T) {
	const p = 4
	rng := rand.New(rand.NewPCG(10, 0))
	linear, coins := simulatedRows(30, p, 2, plusNormal), simulatedRows(30, p, 3, coin)
	groups := make([]int, 30)
	for i := range groups {
		groups[i] = i % 3
	}
	for name, m := range map[string]*Model{
		"linear": LinearRegression(linear, 3, 2, 1), "logistic": Logistic(coins, 1),
		"hierarchical": Hierarchical(coins, groups, []float64{1, 0, 0.5, 1, -1, 2}, 2, 4),
	} {
		theta, grad, want := make([]float64, m.Dim()), make([]float64, m.Dim()), make([]float64, m.Dim())
		normal(theta, rng)
		for i := range 30 {
			NewGradients(m, nil).LogLik(grad, theta, i)
			clear(want)
			at := 0
			if name == "hierarchical" {
				at = groups[i] * p
			}
			if name == "linear" {
				y := linear.Y[i] * math.Exp(-theta[p]/2)
				e := y - floats.Dot(linear.row(i), theta[:p])
				floats.AddScaled(want[:p], e, linear.row(i))
				want[p] = (e*y - 1) / 2
			} else {
				eta := floats.Dot(coins.row(i), theta[at:at+p])
				floats.AddScaled(want[at:at+p], coins.Y[i]-1/(1+math.Exp(-eta)), coins.row(i))
			}
			if !floats.EqualApprox(grad, want, 1e-12) {
				t.Errorf("%s, record %d: %v, by hand %v", name, i, grad, want)
			}
		}
	}
}

// What is summed is the sum of gradients that are formed one by one, and clipped: up to the
// coding, of 2⁻²⁰ of a norm, where noise is to be added, and else up to rounding.
func TestClippedUnformed(t *testing.T) {
	for name, m := range models(5, false) {
		rng, of, batch := rand.New(rand.NewPCG(11, 0)), NewGradients(m, nil), make([]int, 0, 90)
		theta, grad := make([]float64, m.Dim()), make([]float64, m.Dim())
		normal(theta, rng)
		for i := range cap(batch) {
			batch = append(batch, (7*i)%30) // more than a tile; each three times
		}
		for _, clip := range []float64{0.01, 1, 1e4} {
			for _, private := range []bool{false, true} {
				var sum *Sum
				if private {
					sum = NewSum(m.Dim(), clip, 1e-9, stream(1))
				}
				want, got := make([]float64, m.Dim()), make([]float64, m.Dim())
				clipped := 0
				for _, i := range batch {
					of.LogLik(grad, theta, i)
					size := norm(grad)
					if size > clip {
						clipped++
					}
					floats.AddScaled(want, min(1, clip/size), grad)
				}
				if (clip == 0.01) != (clipped == 90) || clip == 1e4 && clipped > 0 {
					t.Fatalf("%s: %d of 90 gradients are clipped to %v", name, clipped, clip)
				}
				c := newDoor(m, clip, sum, nil)
				c.Add(theta, batch)
				c.Release(got)
				floats.Sub(got, want)
				if worst := floats.Norm(got, math.Inf(1)); worst > 1e-4*min(clip, 90*norm(want)) || !private && worst > 1e-11*90*clip {
					t.Errorf("%s, clip %v, private %v: off by up to %v", name, clip, private, worst)
				}
			}
		}
	}
}

// A model that cannot be clipped is refused before there are records.
func TestModelsRefused(t *testing.T) {
	rows := simulatedRows(3, 2, 1, coin)
	for what, f := range map[string]func(*Tape){
		"used twice":            func(t *Tape) { t.Factor(t.Param(0)); t.Factor(t.Dense(t.Rows(rows.X, 2), 0)) },
		"a row for each record": func(t *Tape) { t.Factor(t.Dense(t.Constant([]float64{1, 1}, 2), 0)) },
		"through Param":         func(t *Tape) { t.Factor(t.Matrix(0, 1)) },
		"multiplied with rows":  func(t *Tape) { t.Factor(t.Dense(t.Rows(rows.Y, 3), 0)) },
		"a matrix of":           func(t *Tape) { t.Factor(t.Param(0).Plus(t.Rows(rows.X, 3))) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, what) {
					t.Errorf("%s: %s", what, got)
				}
			}()
			newDoor(&Model{Records: 3, Parameters: []Parameter{{Name: "theta", Size: 2}}, LogLik: f}, 1, nil, nil)
		}()
	}
}
