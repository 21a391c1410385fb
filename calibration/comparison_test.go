package calibration

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
)

// comparing is a small comparison. With 100 rows DP-VI takes all of them in each step, for
// which the accountant needs no time.
func comparing(methods ...string) *Design {
	return &Design{Format: ComparisonFormat, Ns: []int64{100}, Ps: []int{2}, Data: Unclamped, X: NormalX, Prior: PriorSpec{Name: BoxPrior}, Epsilons: []float64{2}, Delta: 1e-6, Arms: ComparisonArms(methods), Clients: 3, Trials: 3}
}

// ofTable is a comparison of rows with y = 0.2 + 0.5 x₁ − 0.3 x₂ and a little noise.
func ofTable(t *testing.T, n int, methods ...string) (*Design, *Rows) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	rows := must.Get(ReadRows(func(yield func([]float64, error) bool) {
		for range n {
			x, z := 2*rng.Float64()-1, 2*rng.Float64()-1
			if !yield([]float64{x, z, max(-1, min(1, 0.2+0.5*x-0.3*z+0.1*rng.NormFloat64()))}, nil) {
				return
			}
		}
	}, 3))(t)
	d := comparing(methods...)
	d.Ns, d.Ps, d.Data, d.X = nil, nil, Split, ""
	d.Population = &Table{Name: "rows.csv", Columns: *dpreg.UnitDesign(2), Rows: rows.Len(), Digest: rows.Digest(), Test: 0.25}
	return d, rows
}

func compared(t *testing.T, d *Design, rows *Rows, o Options) (*Study, []*Trial) {
	t.Helper()
	s := must.Get(d.Study(rows))(t)
	trials := must.Get(s.Run(context.Background(), o))(t)
	return s, trials
}

// Methods of each kind, on simulated rows and on a table: results do not depend on how many
// trials are worked on at once.
func TestComparisonsAreTheSame(t *testing.T) {
	testsize.Full(t, "TestRunIsDeterministic has the workers, and TestEveryMethodRuns the methods")
	d := comparing(NonPrivate, "naive", "gibbs-ss-update", "mcmc-exact", DPVI, DPPVI, AdaSSP)
	s, trials := compared(t, d, nil, Options{Workers: 1})
	whole := written(t, s, trials)
	if s, trials = compared(t, d, nil, Options{Workers: 3}); written(t, s, trials) != whole {
		t.Error("simulated rows: other results with three workers")
	}
	for i := range s.Cells {
		if c := s.Compare(trials).Cells[i]; c.Failed > 0 || c.Get(MeasureError) == nil || c.Get(MeasureTruthError) == nil || (c.Get(MeasureCoverage) == nil) != (c.Method == AdaSSP) || (c.Get(MeasureSpent) == nil) != (c.Method == NonPrivate) {
			t.Errorf("%+v", c)
		}
	}
	if testing.Short() {
		return
	}
	d, rows := ofTable(t, 200, NonPrivate, "naive", DPPVI, AdaSSP)
	s, trials = compared(t, d, rows, Options{Workers: 1})
	whole = written(t, s, trials)
	if s, trials = compared(t, d, rows, Options{Workers: 3}); written(t, s, trials) != whole {
		t.Error("a table: other results with three workers")
	}
	for _, c := range s.Compare(trials).Cells {
		if c.N != 150 || c.Get(MeasurePredictionError) == nil || (c.Get(MeasureLogScore) == nil) != (c.Method == AdaSSP) || c.Get(MeasureTruthError) != nil {
			t.Errorf("%+v", c)
		}
	}
	if c := s.Compare(trials).Cells[0]; c.Get(MeasurePredictionError).Mean > 0.13 || c.Get(MeasureCoverage).Mean < 0.8 {
		t.Errorf("without privacy: %+v", c)
	}
}

// Methods are given the same rows, different ones in each trial; every row is inferred from
// or predicted.
func TestMethodsSeeTheSameRows(t *testing.T) {
	d, rows := ofTable(t, 20, "naive", "mcmc-exact")
	s := must.Get(d.Study(rows))(t)
	var got, test [2][]float64
	for i := range s.Cells {
		s.Cells[i].Subject.(*comparison).method = shrunk(1, func(e *example) {
			got[i], test[i] = append(got[i], e.rows...), append(test[i], e.test...)
		})
	}
	must.Get(s.Run(context.Background(), Options{Workers: 1}))(t)
	if !slices.Equal(got[0], got[1]) || !slices.Equal(test[0], test[1]) {
		t.Error("two methods see different rows")
	}
	if slices.Equal(test[0][:15], test[0][15:30]) {
		t.Error("two trials predict the same rows")
	}
	all := slices.Concat(got[0][:45], test[0][:15])
	var want []float64
	for i := range int(rows.Len()) {
		want = append(want, rows.At(i)...)
	}
	slices.Sort(all)
	slices.Sort(want)
	if !slices.Equal(all, want) {
		t.Error("rows are lost, or inferred from and predicted")
	}
}

// A method that cannot serve says why, and others go on.
func TestMethodsRefuse(t *testing.T) {
	d := comparing("naive", DPVI, "gibbs-ss-noisy")
	d.Epsilons, d.Ns, d.Ps = []float64{0.1}, []int64{20}, []int{4}
	s, trials := compared(t, d, nil, Options{})
	for _, c := range s.Compare(trials).Cells {
		want := map[string]string{"naive": "", DPVI: "budget is too small", "gibbs-ss-noisy": "1 to 3"}[c.Method]
		if c.Refused != (want != "") || !strings.Contains(c.Error, want) || !c.Sound(d.Trials) {
			t.Errorf("%+v", c)
		}
	}
}

// Where releases look as often as they like, those with moments look once.
func TestMomentsLookOnce(t *testing.T) {
	d, rows := ofTable(t, 400, "naive", "gibbs-ss-noisy")
	d.Epsilons, d.Steps, d.Trials = []float64{20}, custody.AutoSteps, 1
	s, trials := compared(t, d, rows, Options{})
	for _, c := range s.Compare(trials).Cells {
		if c.Error != "" {
			t.Errorf("%s: %s", c.Method, c.Error)
		}
	}
}

func TestComparisonRefuses(t *testing.T) {
	rowsOf := func(change func(*Design)) *Design {
		d, _ := ofTable(t, 20, "naive")
		change(d)
		return d
	}
	of := func(change func(*Design)) *Design {
		d := comparing("naive", DPPVI)
		change(d)
		return d
	}
	for _, c := range []struct {
		d    *Design
		want string
	}{
		{of(func(d *Design) { d.Arms = ComparisonArms([]string{"gibs"}) }), "gibs: there is none of this name; choose of non-private"},
		{of(func(d *Design) { d.Arms = ComparisonArms([]string{"naive", "naive"}) }), "stands twice"},
		{of(func(d *Design) { d.Arms = ComparisonArms(nil) }), "methods"},
		{of(func(d *Design) { d.Delta = 0 }), "dp-pvi: its noise is Gaussian, which needs a delta"},
		{of(func(d *Design) { d.Clients = 101 }), "clients: 101, and it has to be from 1 to the number of rows to infer from, 100"},
		{of(func(d *Design) { d.Clients = 0 }), "clients"},
		{of(func(d *Design) { d.Epsilons = nil }), "epsilon"},
		{of(func(d *Design) { d.Epsilons = []float64{-1} }), "epsilon"},
		{of(func(d *Design) { d.Epsilons = []float64{1, 1} }), "epsilon: 1 stands twice"},
		{of(func(d *Design) { d.Delta = 1 }), "delta"},
		{of(func(d *Design) { d.Trials = 0 }), "trials"},
		{of(func(d *Design) { d.Ns = nil }), "needs an n"},
		{of(func(d *Design) { d.Ns = []int64{0} }), "n: 0 rows"},
		{of(func(d *Design) { d.Ps = []int{31} }), "p: 31"},
		{of(func(d *Design) { d.Data = "clipped" }), `data "clipped"`},
		{of(func(d *Design) { d.Format = "x" }), "format"},
		{rowsOf(func(d *Design) { d.Population.Test = 1 }), "test"},
		{rowsOf(func(d *Design) { d.Population.Test = math.NaN() }), "test"},
		{rowsOf(func(d *Design) { d.Population.Rows = 1 }), "cannot be divided"},
		{rowsOf(func(d *Design) { d.Ps = []int{2} }), "p: the columns"},
		{rowsOf(func(d *Design) { d.Ns = []int64{2} }), "table"},
		{rowsOf(func(d *Design) { d.Data = Unclamped }), "rows of a table"},
		{of(func(d *Design) { d.Data = Cirrhosis }), `data "cirrhosis"`},
		{of(func(d *Design) { d.Arms[0].Draws = 500 }), "as in all others"},
		{rowsOf(func(d *Design) { d.Population.Columns.Covariates, d.Population.Columns.Intercept = nil, false }), "columns"},
	} {
		must.Fail(t, c.d.Validate(), c.want)
	}
	d, rows := ofTable(t, 20, "naive")
	rows.At(1)[0] = 0.25
	must.Fail(t, must.Err(d.Study(rows)), "not those of the study")
	if _, err := comparing("naive").Study(rows); err == nil {
		t.Error("rows for a design that simulates them")
	}
}

// a data set whose response is a line, so that every weighting of rows has the same fit.
func onALine(t *testing.T, intercept bool) *example {
	t.Helper()
	columns := dpreg.UnitDesign(2)
	columns.Intercept = intercept
	d, rows := ofTable(t, 3000, "naive")
	for i := range int(rows.Len()) {
		row := rows.At(i)
		row[2] = 0.5*row[0] - 0.25*row[1]
	}
	d.Population.Columns, d.Population.Digest = *columns, rows.Digest()
	s := must.Get(d.Study(rows))(t)
	return must.Get(s.Cells[0].Subject.(*comparison).example(rand.New(rand.NewPCG(3, 3))))(t)
}

// With next to no noise the law that clients make together is that of the rows, clipped; and so
// is what gradients find.
func TestRivalsWithoutNoise(t *testing.T) {
	budget := release.Privacy{Epsilon: 1e6, Delta: 0.1, Neighbours: release.ReplaceOne}
	infer := func(e *example, of inference) *fitted {
		return must.Get(of(context.Background(), e, mechanisms.Simulated(rand.New(rand.NewPCG(1, 1))), rand.New(rand.NewPCG(2, 2))))(t)
	}
	for _, intercept := range []bool{true, false} {
		e := onALine(t, intercept)
		e.privacy = budget
		for name, of := range map[string]inference{DPPVI: must.Get(dpPVI(budget, 7))(t), AdaSSP: adaSSP} {
			f := infer(e, of)
			// The prior, and values rounded to 2⁻²⁰, move coefficients by less than 1e-3.
			if distance := rms(f.theta, e.exact.mean); distance > 1e-3 {
				t.Errorf("%s, intercept %t: %v, exactly %v", name, intercept, f.theta, e.exact.mean)
			}
		}
	}
	e := onALine(t, true)
	e.privacy.Epsilon, e.privacy.Delta = 100, 0.1
	f := infer(e, must.Get(dpVI(*e.fitter, viBatch))(t)) // a batch of all rows: no time for the accountant
	if distance := rms(f.theta, e.exact.mean); distance > 0.02 || f.epsilon > 100 {
		t.Errorf("%v, exactly %v; ε = %v", f.theta, e.exact.mean, f.epsilon)
	}
}

// The regression's density has the gradients it says, and the prior of all methods.
func TestRegressionPrior(t *testing.T) {
	e := onALine(t, true)
	r := vi.NewGradients(boxRegression(e), nil)
	theta := []float64{0.3, -0.2, 0.5, -1.2}
	got, scratch := make([]float64, 4), make([]float64, 4)
	r.LogPrior(got, theta)
	want := fd.Gradient(nil, func(x []float64) float64 { return r.LogPrior(scratch, x) }, theta, &fd.Settings{Formula: fd.Central, Step: 1e-5})
	if !floats.EqualApprox(got, want, 1e-5) {
		t.Errorf("gradient %v, by differences %v", got, want)
	}
	// A difference of log densities of (θ, σ²) = (σβ, e^w), with the Jacobian σ^q·σ².
	grad, other := make([]float64, 4), []float64{-0.1, 0.4, 0, -2}
	density := func(x []float64) float64 {
		sigma2 := math.Exp(x[3])
		d := -(e.prior.Theta.Shape+1)*x[3] - e.prior.Theta.Scale/sigma2 + x[3]
		for j, b := range x[:3] {
			d -= e.prior.Theta.Precision[j*3+j] * b * b / 2
		}
		return d
	}
	must.Near(t, "log prior", r.LogPrior(grad, theta)-r.LogPrior(grad, other), density(theta)-density(other), 1e-9)
}

// Shape of the prior that DP-VI and DP-PVI take for granted.
func TestBoxPriorIsDiagonal(t *testing.T) {
	prior := model.Normal.BoxPrior(model.Shape{P: 3, Intercept: true})
	for i, v := range prior.Theta.Precision {
		if i%5 != 0 && v != 0 {
			t.Errorf("precision %v", prior.Theta.Precision)
		}
	}
	if slices.ContainsFunc(prior.Theta.Mean, func(v float64) bool { return v != 0 }) {
		t.Errorf("mean %v", prior.Theta.Mean)
	}
}

func TestRMS(t *testing.T) {
	must.Near(t, "rms", rms([]float64{1, 2, 3}, []float64{1, 0, 6}), math.Sqrt(13./3), 1e-15)
}

// Of draws 0, 1, …, 100 the 90 % interval is from 5 to 95.
func TestIntervals(t *testing.T) {
	chain := make([]float64, 0, 303)
	for i := range 101 {
		chain = append(chain, float64(i), -2*float64(i), 1)
	}
	d := &posterior.Draws{Names: []string{"theta[0]", "theta[1]", "sigma2"}, Chains: [][]float64{chain}}
	for _, c := range []struct {
		truth []float64
		held  float64
	}{{[]float64{5, -100}, 1}, {[]float64{4, -100}, 0.5}, {[]float64{96, 1}, 0}, {nil, 0}} {
		width, held := intervals(d, 2, c.truth)
		must.Near(t, "width", width, (90.+180)/2, 1e-12)
		must.Near(t, "held", held, c.held, 0)
	}
}

// Two draws, of lines 1 + x and −1 + x with σ = 1 and 2.
func TestMixture(t *testing.T) {
	e := &example{fitter: &fitter{columns: dpreg.UnitDesign(1)}, shape: model.Shape{P: 1, Intercept: true}}
	draws := [][]float64{{1, 1, 1}, {-1, 1, 4}}
	below, density := e.mixture(draws, []float64{1, 0.5}, 2)
	phi := func(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
	must.Near(t, "distribution function", below, (0.5+0.5*math.Erf(0.5/math.Sqrt2)+0.5+0.5*math.Erf(1.25/math.Sqrt2))/2, 1e-15)
	must.Near(t, "log density", density, math.Log((phi(0.5)+phi(1.25)/2)/2), 1e-14)
	// Far away a density is 0 in float64, and its logarithm is not.
	_, density = e.mixture(draws, []float64{1, 0}, 1e3)
	must.Near(t, "log density", density, -1001.*1001/8-math.Log(4)-math.Log(2*math.Pi)/2, 1e-6)
}

// One draw, the line y = 0 with σ = 1: three of four responses lie within 1.645.
func TestPredict(t *testing.T) {
	e := &example{fitter: &fitter{columns: dpreg.UnitDesign(1)}, shape: model.Shape{P: 1, Intercept: true}, test: []float64{0.3, 0, 0.1, 1.6, -0.5, -1.7, 0, -1.6}}
	held, score := e.predict(&posterior.Draws{Names: []string{"theta[0]", "theta[1]", "sigma2"}, Chains: [][]float64{{0, 0, 1}}})
	must.Near(t, "held", held, 0.75, 0)
	must.Near(t, "score", score, -(2*1.6*1.6+1.7*1.7)/8-math.Log(2*math.Pi)/2, 1e-14)
	must.Near(t, "error of predictions", e.predictionError([]float64{1, 0}), math.Sqrt((1+0.36+2.7*2.7+2.6*2.6)/4), 1e-14)
}

// shrunk has the exact posterior, with deviations from its mean times a factor. It shows what it is
// given.
func shrunk(factor float64, show func(*example)) method {
	return func() (inference, error) {
		return func(_ context.Context, e *example, _ *mechanisms.Entropy, rng *rand.Rand) (*fitted, error) {
			show(e)
			d, err := e.exact.draw(rng)
			q := e.shape.Q()
			d = d.Map(d.Names, func(dst, src []float64) {
				for j := range dst {
					if dst[j] = src[j]; j < q {
						dst[j] = e.exact.mean[j] + factor*(src[j]-e.exact.mean[j])
					}
				}
			})
			return &fitted{theta: e.exact.mean, draws: d, epsilon: 2}, err
		}, nil
	}
}

// Coverage of 150 data sets of three coefficients is that of the level for the posterior, and
// lower for one that is half as wide. Hits of a data set depend on each other, so that the
// standard error is at most √(.09/150) = .0245: five of them are passed with probability 6e-7.
func TestCoverageFindsNarrowIntervals(t *testing.T) {
	testsize.Planted(t)
	shape := model.Shape{P: 2, Intercept: true}
	study := &Study{Trials: 150, Compares: true}
	for name, factor := range map[string]float64{"right": 1, "narrow": 0.5} {
		s := &comparison{method: shrunk(factor, func(*example) {}), n: 50, fitter: fitter{columns: dpreg.UnitDesign(2), prior: model.Normal.BoxPrior(shape)}, data: Unclamped}
		study.Cells = append(study.Cells, Cell{Setting: Setting{Method: name}, Subject: s})
	}
	trials := must.Get(study.Run(context.Background(), Options{}))(t)
	for _, c := range study.Compare(trials).Cells {
		covered := c.Get(MeasureCoverage).Mean
		if right := math.Abs(covered-ComparisonLevel) < 5*0.0245; right != (c.Method == "right") {
			t.Errorf("%s: %v of the intervals hold the truth", c.Method, covered)
		}
		if c.Get(MeasureError).Mean != 0 || c.Get(MeasureSpent).Mean != 2 || c.Get(MeasureLogScore) != nil {
			t.Errorf("%s: %+v", c.Method, c.Measures)
		}
		if mmd := math.Abs(c.Get(MeasureMMD2).Mean); mmd > 0.01 {
			t.Errorf("%s: MMD² %v", c.Method, mmd)
		}
	}
}

func TestCompare(t *testing.T) {
	study := &Study{Trials: 3, Cells: []Cell{{Setting: Setting{Method: "a"}}, {Setting: Setting{Method: "b"}}}}
	measure := func(v float64) []Measure { return []Measure{{Name: MeasureWidth, Value: v}} }
	s := study.Compare([]*Trial{
		{Cell: 0, Trial: 0, Measures: measure(1)}, {Cell: 0, Trial: 1, Measures: measure(4), Capped: true}, {Cell: 0, Trial: 2, Error: "no"},
		{Cell: 1, Trial: 0, Error: "too small"}, {Cell: 1, Trial: 1, Error: "too small"}, {Cell: 1, Trial: 2, Error: "too small"},
	})
	a, b := &s.Cells[0], &s.Cells[1]
	m := a.Get(MeasureWidth)
	must.Near(t, "mean", m.Mean, 2.5, 1e-15)
	must.Near(t, "sd", *m.SD, math.Sqrt(4.5), 1e-15)
	if m.Of != 2 || a.Failed != 1 || a.Capped != 1 || a.Refused || a.Sound(3) {
		t.Errorf("%+v", a)
	}
	if !b.Refused || b.Error != "too small" || !b.Sound(3) || b.Get(MeasureWidth) != nil {
		t.Errorf("%+v", b)
	}
	if has := s.Has(); len(has) != 1 || has[0] != MeasureWidth {
		t.Error(has)
	}
}

// No two columns of a file have one name.
func TestHeadersDiffer(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, new(Comparison).WriteCSV(&b))
	summary := strings.Split(strings.TrimSpace(b.String()), ",")
	b.Reset()
	must.Do(t, (&Study{Compares: true}).WriteTrials(&b, nil))
	for _, header := range [][]string{summary, strings.Split(strings.TrimSpace(b.String()), ",")} {
		for i, name := range header {
			if slices.Contains(header[:i], name) {
				t.Errorf("%s stands twice", name)
			}
		}
	}
}
