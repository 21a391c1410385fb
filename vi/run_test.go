package vi

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// knownVariance is y ~ N(xᵀθ, v) with θ ~ N(0, I): its posterior is normal, with
// precision I + XᵀX/v and mean its inverse times Xᵀy/v.
type knownVariance struct {
	*Rows
	v float64
}

func (k knownVariance) model() *Model {
	m := Logistic(k.Rows, 1)
	m.LogLik = func(t *Tape) {
		t.Observe(t.Dense(t.Rows(k.X, k.P), 0), k.Y, func(y, eta float64) float64 { return -(y - eta) * (y - eta) / (2 * k.v) }, func(y, eta float64) float64 { return (y - eta) / k.v })
	}
	return m
}

// exact is the posterior's mean and covariance.
func (k knownVariance) exact() (mean []float64, covariance *mat.SymDense) {
	precision := mat.NewSymDense(k.P, nil)
	for j := range k.P {
		precision.SetSym(j, j, 1)
	}
	b := mat.NewVecDense(k.P, nil)
	for i, y := range k.Y {
		x := mat.NewVecDense(k.P, k.row(i))
		precision.SymRankOne(precision, 1/k.v, x)
		b.AddScaledVec(b, y/k.v, x)
	}
	var factor mat.Cholesky
	factor.Factorize(precision)
	covariance = mat.NewSymDense(k.P, nil)
	factor.InverseTo(covariance)
	m := mat.NewVecDense(k.P, nil)
	factor.SolveVecTo(m, b)
	return m.RawVector().Data, covariance
}

func conjugate() knownVariance {
	rows := simulatedRows(40, 3, 11, plusNormal)
	for i := range rows.Y {
		rows.X[i*3+1] += 0.8 * rows.X[i*3] // so that the posterior is correlated
	}
	return knownVariance{rows, 0.5}
}

// The full-covariance guide is the exact posterior, and the mean-field guide has its mean
// and the inverse of its precision's diagonal as variances. All records are in every
// batch, so what is random is θ alone; the average over the last half leaves 1 % of a
// standard deviation of it, and 2 % of standard deviations.
func TestGuidesOfConjugateModel(t *testing.T) {
	k := conjugate()
	mean, covariance := k.exact()
	var inverse mat.Dense
	must.Do(t, inverse.Inverse(covariance))
	for _, full := range []bool{false, true} {
		fit := must.Get(Run(context.Background(), k.model(), Options{Rate: 1, Steps: 8000, LearningRate: 0.01, Full: full, Average: 0.5, Seed: 12}))(t)
		m, sd := fit.Moments()
		for j := range mean {
			want := 1 / math.Sqrt(inverse.At(j, j))
			if full {
				want = math.Sqrt(covariance.At(j, j))
			}
			if math.Abs(m[j]-mean[j]) > 0.03*want || math.Abs(sd[j]/want-1) > 0.04 {
				t.Errorf("full %v, parameter %d: %.4f (%.4f), exactly %.4f (%.4f)", full, j, m[j], sd[j], mean[j], want)
			}
		}
		if full {
			checkCovariance(t, fit, covariance)
		}
	}
}

// Logistic regression without noise and clipping settles at the posterior's mode, up to its
// skewness, of the order of 1/√n standard deviations; with steps too small for the way it
// says that it has not.
func TestLogisticSettles(t *testing.T) {
	rows := simulatedRows(2000, 4, 21, func(eta float64, rng *rand.Rand) float64 { return coin(2*eta-1, rng) })
	for i := range rows.Y {
		rows.X[4*i] = 1
	}
	m := Logistic(rows, 2)
	mode, precision := make([]float64, 4), mat.NewSymDense(4, nil)
	var factor mat.Cholesky
	gradient, step := make([]float64, 4), mat.NewVecDense(4, nil)
	for range 20 { // Newton's
		NewGradients(m, nil).LogPrior(gradient, mode)
		precision.Zero()
		for j := range mode {
			precision.SetSym(j, j, 0.25)
		}
		for i := range rows.Y {
			x := rows.row(i)
			slope := BernoulliSlope(rows.Y[i], floats.Dot(x, mode))
			share := rows.Y[i] - slope
			floats.AddScaled(gradient, slope, x)
			precision.SymRankOne(precision, share*(1-share), mat.NewVecDense(4, x))
		}
		factor.Factorize(precision)
		factor.SolveVecTo(step, mat.NewVecDense(4, gradient))
		floats.Add(mode, step.RawVector().Data)
	}
	for _, rate := range []float64{0.02, 1e-3} {
		fit := must.Get(Run(context.Background(), m, Options{Rate: 1, Steps: 600, LearningRate: rate, Average: 0.5, Seed: 22}))(t)
		mean, sd := fit.Moments()
		for j := range mode {
			if settled := math.Abs(mean[j]-mode[j]) < 0.2*sd[j]; settled != (rate == 0.02) {
				t.Errorf("rate %v, parameter %d: %v ± %v, and the mode is %v", rate, j, mean[j], sd[j], mode[j])
			}
		}
		if most := floats.Norm(fit.Moved, math.Inf(1)); (most > 0.5) != (rate < 0.02) {
			t.Errorf("rate %v: means moved by %v standard deviations", rate, fit.Moved)
		}
	}
}

// checkCovariance looks at LLᵀ off the diagonal.
func checkCovariance(t *testing.T, fit *Fit, want *mat.SymDense) {
	f := fit.Guide
	entry := func(i, j int) float64 {
		switch row := f.row(fit.Lambda, i); {
		case j < i:
			return row[j]
		case j == i:
			return math.Exp(row[j])
		}
		return 0
	}
	for i := range f.Dim {
		for j := range i {
			got := 0.
			for k := range f.Dim {
				got += entry(i, k) * entry(j, k)
			}
			if math.Abs(got-want.At(i, j)) > 0.06*math.Sqrt(want.At(i, i)*want.At(j, j)) {
				t.Errorf("covariance %d, %d: %.5f, want %.5f", i, j, got, want.At(i, j))
			}
		}
	}
}

// private has noise of its own, so that none need be found.
func private(o Options) Options {
	o.Privacy = &Privacy{Epsilon: 100, Delta: 1e-5, Multiplier: 2, Entropy: mechanisms.Simulated(rand.New(rand.NewPCG(13, 0)))}
	return o
}

var quick = Options{Rate: 0.1, Steps: 200, Clip: 1, LearningRate: 0.02}

// The multiplier is the accountant's, and what was spent does not pass the budget.
func TestBudget(t *testing.T) {
	m := Logistic(simulatedRows(500, 3, 14, coin), 2)
	for _, scheme := range []accounting.Scheme{accounting.PoissonReplaceOne, accounting.PoissonAddRemove}[:testsize.Of(1, 2)] {
		o := private(quick)
		o.Scheme, o.Steps = scheme, 5
		o.Privacy.Epsilon, o.Privacy.Multiplier = 2, 0
		fit := must.Get(Run(context.Background(), m, o))(t)
		spent, err := fit.Spent()
		if err != nil || spent > 2 || spent < 1.99 {
			t.Errorf("scheme %d: ε = %v spent of 2 (%v)", scheme, spent, err)
		}
		if fit.Training.Rate != 0.1 || fit.Training.Scheme != scheme || fit.Privacy.Multiplier != fit.Training.Multiplier {
			t.Errorf("scheme %d: the accountant was told %+v", scheme, fit.Training)
		}
		o.Privacy.Multiplier = 0.99 * fit.Training.Multiplier
		if _, err := Run(context.Background(), m, o); !errors.Is(err, ErrBudget) {
			t.Errorf("scheme %d: too little noise for the budget: %v", scheme, err)
		}
	}
	o := private(quick)
	if _, err := o.Plan(0.2); !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "fewer steps") {
		t.Errorf("noise that hides all that records add: %v", err)
	}
	if _, err := o.Plan(500); err != nil {
		t.Error(err)
	}
	o.Rate, o.Steps = 1, 1e6 // no sampling: an exact formula, without an end
	o.Privacy.Epsilon, o.Privacy.Multiplier = 1e-4, 0
	if _, err := o.Plan(1e9); !errors.Is(err, ErrBudget) {
		t.Errorf("noise of any size: %v", err)
	}
}

// A private run tells no ELBO; one with simulated noise, or none, does.
func TestTrace(t *testing.T) {
	m := Logistic(simulatedRows(100, 3, 15, coin), 2)
	o := private(quick)
	o.Trace = 4
	for _, entropy := range []*mechanisms.Entropy{o.Privacy.Entropy, mechanisms.OS()} {
		o.Privacy.Entropy = entropy
		fit := must.Get(Run(context.Background(), m, o))(t)
		if len(fit.Trace) != 4 || fit.Trace[3].Step != 200 || fit.Simulated != entropy.IsSimulated() {
			t.Fatalf("%d points, simulated %v", len(fit.Trace), fit.Simulated)
		}
		for _, p := range fit.Trace {
			if math.IsNaN(p.ELBO) == fit.Simulated {
				t.Errorf("simulated %v, and the ELBO is %v", fit.Simulated, p.ELBO)
			}
		}
	}
}

// An interrupted run says how far it got, and what that spent.
func TestInterrupted(t *testing.T) {
	m := Logistic(simulatedRows(100, 3, 16, coin), 2)
	ctx, cancel := context.WithCancel(context.Background())
	o := private(quick)
	o.Progress = func(done int) {
		if done == 50 {
			cancel()
		}
	}
	fit, err := Run(ctx, m, o)
	if !errors.Is(err, context.Canceled) || fit == nil || fit.Training.Steps != 50 {
		t.Fatalf("%v, %+v", err, fit)
	}
	spent, err := fit.Spent()
	want := fit.Training
	if e, _ := want.Epsilon(accounting.PLD, 1e-5); err != nil || spent != e || spent >= 100 {
		t.Errorf("ε = %v of %v spent by a quarter of the steps (%v)", spent, e, err)
	}
}

// broken has gradients that are NaN or infinite for some records.
func broken(m *Model) *Model {
	spoilt, of := *m, make([]float64, m.Records)
	copy(of, []float64{math.NaN(), math.Inf(1), math.Inf(-1)})
	spoilt.LogLik = func(t *Tape) {
		m.LogLik(t)
		t.Factor(t.factors[0].With(t.Rows(of, 1), func(x, y float64) (float64, float64, float64) { return 0, y, 0 }))
	}
	return &spoilt
}

// A record whose gradient is not finite counts as one without a gradient:
// the fit is that of the rows without it, draw for draw.
func TestNotFinite(t *testing.T) {
	rows := simulatedRows(60, 3, 17, coin)
	clean := *rows
	clean.X = append([]float64(nil), rows.X...)
	for j := range 3 * 3 {
		clean.X[j] = 0
	}
	o := private(quick)
	var fits [2]*Fit
	for k, m := range []*Model{broken(Logistic(rows, 2)), broken(Logistic(&clean, 2))} {
		o.Privacy.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(18, 0)))
		fits[k] = must.Get(Run(context.Background(), m, o))(t)
	}
	for j, v := range fits[0].Lambda {
		if v != fits[1].Lambda[j] || v-v != 0 {
			t.Errorf("λ[%d] is %v, and %v where broken records are 0", j, v, fits[1].Lambda[j])
		}
	}
}

func TestDraws(t *testing.T) {
	m := LinearRegression(simulatedRows(100, 2, 20, plusNormal), 3, 2, 1)
	fit := must.Get(Run(context.Background(), m, Options{Rate: 1, Steps: 2000, LearningRate: 0.02, Average: 0.5}))(t)
	d := fit.Draws(2000, 1)
	if d.NumChains() != 4 || d.NumDraws() != 2000 || d.Index("sigma2") != 2 {
		t.Fatalf("%d chains of %d draws of %v", d.NumChains(), d.NumDraws(), d.Names)
	}
	// The truth is (1, −1)/√2 with σ = ½: within 5 posterior standard deviations, σ/√n.
	for j, want := range []float64{math.Sqrt(0.5), -math.Sqrt(0.5), 0.25} {
		sum := 0.
		for _, chain := range d.Column(j) {
			for _, v := range chain {
				sum += v / 8000
			}
		}
		if math.Abs(sum-want) > 0.25 {
			t.Errorf("%s: the draws' mean is %v, the truth %v", d.Names[j], sum, want)
		}
	}
}

// That there are no records is not told: a run goes on, with as much noise.
func TestNoRecords(t *testing.T) {
	for name, m := range map[string]*Model{
		"logistic":     Logistic(&Rows{P: 3}, 1),
		"hierarchical": Hierarchical(&Rows{P: 3}, nil, []float64{1, 1}, 1, 4),
	} {
		fit, err := Run(context.Background(), m, private(quick))
		if err != nil || fit.Lambda[0] == 0 || fit.Lambda[0]-fit.Lambda[0] != 0 {
			t.Errorf("%s: %v, %v", name, fit, err)
		}
		if a, err := newAscent(m, private(quick)); err != nil || a.door.sum.noisy[0] != [2]int{0, len(m.Names()) - m.Parameters[len(m.Parameters)-1].Size*(len(m.Parameters)-1)} {
			t.Errorf("%s: noise in %v (%v)", name, a.door.sum.noisy, err)
		}
	}
}

func TestOptions(t *testing.T) {
	m := Logistic(simulatedRows(20, 2, 21, coin), 2)
	for want, change := range map[string]func(*Options){
		"rate":          func(o *Options) { o.Rate = 0 },
		"steps":         func(o *Options) { o.Steps = 0 },
		"learning rate": func(o *Options) { o.LearningRate = 0 },
		"start":         func(o *Options) { o.Start = []float64{1} },
		"average":       func(o *Options) { o.Average = 2 },
		"trace":         func(o *Options) { o.Trace = -1 },
		"clipping norm": func(o *Options) { o.Clip = 0; o.Privacy = &Privacy{Epsilon: 1, Delta: 1e-5} },
		"randomness":    func(o *Options) { o.Privacy = &Privacy{Epsilon: 1, Delta: 1e-5} },
		"epsilon":       func(o *Options) { o.Privacy = &Privacy{Epsilon: -1, Delta: 1e-5, Entropy: mechanisms.OS()} },
		"delta":         func(o *Options) { o.Privacy = &Privacy{Epsilon: 1, Delta: 1, Entropy: mechanisms.OS()} },
	} {
		o := quick
		change(&o)
		must.Fail(t, must.Err(Run(context.Background(), m, o)), want)
	}
}

// Private fits of fixed randomness, of logistic models as they were when each wrote its gradient
// by hand.
func TestGoldens(t *testing.T) {
	group := make([]int, 300)
	for i := range group {
		group[i] = i % 3
	}
	for _, c := range []struct {
		m              *Model
		diagonal, full float64 // λ₀
	}{
		{Logistic(simulatedRows(300, 7, 1, coin), 2), 0.87470234846669714, 0.89760909189898486},
		{Hierarchical(simulatedRows(300, 4, 3, coin), group, []float64{1, 0, 0.5, 1, -1, 2}, 2, 4), 0.60489158026242962, 0.6142819997925365},
		{LinearRegression(simulatedRows(300, 4, 2, plusNormal), 3, 2, 1), 1.450132865780869, 1.446136400098855},
	} {
		for _, full := range []bool{false, true} {
			o, want := private(Options{Rate: 0.3, Steps: 200, LearningRate: 0.03, Full: full, Average: 0.5, Seed: 7, Clip: 1}), c.diagonal
			if full {
				want = c.full
			}
			fit, err := Run(context.Background(), c.m, o)
			if err != nil || math.Abs(fit.Lambda[0]/want-1) > 1e-12 {
				t.Errorf("%s: %.17g, was %v (%v)", c.m.Names(), fit.Lambda[0], want, err)
			}
		}
	}
}

// A step does not allocate.
func TestStepDoesNotAllocate(t *testing.T) {
	for name, m := range models(4, false) {
		o := private(quick)
		o.Rate, o.Clip = 1, 1
		a := must.Get(newAscent(m, o))(t)
		a.step(0)
		if n := testing.AllocsPerRun(20, func() { a.step(1) }); n > 0 && name != "network" { // whose products are in parallel
			t.Errorf("%s: %v allocations a step", name, n)
		}
	}
}
