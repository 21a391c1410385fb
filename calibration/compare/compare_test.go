package compare

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
)

// simulated is a small comparison. With 100 rows DP-VI takes all of them in each step, for
// which the accountant needs no time.
func simulated(methods ...string) *Design {
	return &Design{Format: DesignFormat, Ns: []int64{100}, Ps: []int{2}, Data: calibration.Unclamped, Epsilons: []float64{2}, Delta: 1e-6, Methods: methods, Clients: 3, Trials: 3}
}

// ofTable is a comparison of rows with y = 0.2 + 0.5 x₁ − 0.3 x₂ and a little noise.
func ofTable(t *testing.T, n int, methods ...string) (*Design, *calibration.Rows) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	rows, err := calibration.ReadRows(func(yield func([]float64, error) bool) {
		for range n {
			x, z := 2*rng.Float64()-1, 2*rng.Float64()-1
			if !yield([]float64{x, z, max(-1, min(1, 0.2+0.5*x-0.3*z+0.1*rng.NormFloat64()))}, nil) {
				return
			}
		}
	}, 3)
	if err != nil {
		t.Fatal(err)
	}
	d := simulated(methods...)
	d.Ns, d.Ps, d.Data = nil, nil, ""
	d.Table = &Table{Table: calibration.Table{Name: "rows.csv", Columns: *dpreg.UnitDesign(2), Rows: rows.Len(), Digest: rows.Digest()}, Test: 0.25}
	return d, rows
}

func run(t *testing.T, d *Design, rows *calibration.Rows, o calibration.Options) (*calibration.Study, []*calibration.Trial) {
	t.Helper()
	s, err := d.Study(rows)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := s.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, trials
}

// text is all that has to be the same whenever a comparison is run.
func text(t *testing.T, d *Design, s *calibration.Study, trials []*calibration.Trial) string {
	t.Helper()
	var b bytes.Buffer
	sum := d.Summarise(s, trials)
	for _, err := range []error{WriteTrials(&b, s, trials), sum.WriteCSV(&b), sum.WriteJSON(&b)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// Methods of each kind, on simulated rows and on a table: results do not depend on how many
// trials are worked on at once.
func TestResultsAreTheSame(t *testing.T) {
	d := simulated(calibration.NonPrivate, "naive", "gibbs-ss-update", "mcmc-exact", DPVI, DPPVI, AdaSSP)
	s, trials := run(t, d, nil, calibration.Options{Workers: 1})
	whole := text(t, d, s, trials)
	if s, trials = run(t, d, nil, calibration.Options{Workers: 3}); text(t, d, s, trials) != whole {
		t.Error("simulated rows: other results with three workers")
	}
	for i := range s.Cells {
		if c := d.Summarise(s, trials).Cells[i]; c.Failed > 0 || c.Get(Error) == nil || c.Get(TruthError) == nil || (c.Get(Coverage) == nil) != (c.Method == AdaSSP) || (c.Get(Spent) == nil) != (c.Method == calibration.NonPrivate) {
			t.Errorf("%+v", c)
		}
	}
	d, rows := ofTable(t, 200, calibration.NonPrivate, "naive", DPPVI, AdaSSP)
	s, trials = run(t, d, rows, calibration.Options{Workers: 1})
	whole = text(t, d, s, trials)
	if s, trials = run(t, d, rows, calibration.Options{Workers: 3}); text(t, d, s, trials) != whole {
		t.Error("a table: other results with three workers")
	}
	for _, c := range d.Summarise(s, trials).Cells {
		if c.N != 150 || c.Get(PredictionError) == nil || (c.Get(LogScore) == nil) != (c.Method == AdaSSP) || c.Get(TruthError) != nil {
			t.Errorf("%+v", c)
		}
	}
	if c := d.Summarise(s, trials).Cells[0]; c.Get(PredictionError).Mean > 0.13 || c.Get(Coverage).Mean < 0.8 {
		t.Errorf("without privacy: %+v", c)
	}
}

// keeper keeps what it was given.
type keeper struct {
	shrunk
	rows, test *[]float64
}

func (k keeper) fit(ctx context.Context, e *example, noise *mechanisms.Entropy, rng *rand.Rand) (*fitted, error) {
	*k.rows, *k.test = append(*k.rows, e.rows...), append(*k.test, e.test...)
	return k.shrunk.fit(ctx, e, noise, rng)
}

// Methods are given the same rows, different ones in each trial; every row is inferred from
// or predicted.
func TestMethodsSeeTheSameRows(t *testing.T) {
	d, rows := ofTable(t, 20, "naive", "mcmc-exact")
	s, err := d.Study(rows)
	if err != nil {
		t.Fatal(err)
	}
	var got, test [2][]float64
	for i := range s.Cells {
		s.Cells[i].Subject.(*subject).method = keeper{shrunk{1}, &got[i], &test[i]}
	}
	if _, err := s.Run(context.Background(), calibration.Options{Workers: 1}); err != nil {
		t.Fatal(err)
	}
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
func TestRefusals(t *testing.T) {
	d := simulated("naive", DPVI, "gibbs-ss-noisy")
	d.Epsilons, d.Ns, d.Ps = []float64{0.1}, []int64{20}, []int{4}
	s, trials := run(t, d, nil, calibration.Options{})
	for _, c := range d.Summarise(s, trials).Cells {
		want := map[string]string{"naive": "", DPVI: "budget is too small", "gibbs-ss-noisy": "at most 3"}[c.Method]
		if c.Refused != (want != "") || !strings.Contains(c.Error, want) || !c.Sound(d.Trials) {
			t.Errorf("%+v", c)
		}
	}
}

func TestDesignErrors(t *testing.T) {
	rowsOf := func(change func(*Design)) *Design {
		d, _ := ofTable(t, 20, "naive")
		change(d)
		return d
	}
	of := func(change func(*Design)) *Design {
		d := simulated("naive", DPPVI)
		change(d)
		return d
	}
	for _, c := range []struct {
		d    *Design
		want string
	}{
		{of(func(d *Design) { d.Methods = []string{"gibs"} }), `"gibs": there is none of this name; choose of non-private`},
		{of(func(d *Design) { d.Methods = []string{"naive", "naive"} }), "stands twice"},
		{of(func(d *Design) { d.Methods = nil }), "methods"},
		{of(func(d *Design) { d.Delta = 0 }), "dp-pvi: its noise is Gaussian, which needs a delta"},
		{of(func(d *Design) { d.Clients = 101 }), "clients: 101, and it has to be from 1 to the number of rows to infer from, 100"},
		{of(func(d *Design) { d.Clients = 0 }), "clients"},
		{of(func(d *Design) { d.Epsilons = nil }), "epsilon"},
		{of(func(d *Design) { d.Epsilons = []float64{-1} }), "epsilon"},
		{of(func(d *Design) { d.Epsilons = []float64{1, 1} }), "epsilon: 1 stands twice"},
		{of(func(d *Design) { d.Delta = 1 }), "delta"},
		{of(func(d *Design) { d.Trials = 0 }), "trials"},
		{of(func(d *Design) { d.Ns = nil }), "need an n"},
		{of(func(d *Design) { d.Ns = []int64{0} }), "n: 0 rows"},
		{of(func(d *Design) { d.Ps = []int{31} }), "p: 31"},
		{of(func(d *Design) { d.Data = "clipped" }), `data "clipped"`},
		{of(func(d *Design) { d.Format = "x" }), "format"},
		{rowsOf(func(d *Design) { d.Table.Test = 1 }), "test"},
		{rowsOf(func(d *Design) { d.Table.Test = math.NaN() }), "test"},
		{rowsOf(func(d *Design) { d.Table.Rows = 1 }), "cannot be divided"},
		{rowsOf(func(d *Design) { d.Ps = []int{2} }), "table"},
		{rowsOf(func(d *Design) { d.Table.Columns.Covariates = nil }), "columns"},
	} {
		if err := c.d.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q: %v", c.want, err)
		}
	}
	d, rows := ofTable(t, 20, "naive")
	rows.At(1)[0] = 0.25
	if _, err := d.Study(rows); err == nil || !strings.Contains(err.Error(), "not those of the study") {
		t.Error(err)
	}
	if _, err := simulated("naive").Study(rows); err == nil {
		t.Error("rows for a design that simulates them")
	}
}

// FuzzReadDesign looks for a panic, and for a design that is not read again as it was.
func FuzzReadDesign(f *testing.F) {
	f.Add(simulated(DefaultMethods()...).Text())
	f.Add([]byte(`{"format":"dpreg-compare/1","table":{"name":"a","rows":3,"test":0.5}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ReadDesign(text)
		if err != nil {
			return
		}
		again, err := ReadDesign(d.Text())
		if err != nil || !bytes.Equal(again.Text(), d.Text()) {
			t.Errorf("%v: %s", err, d.Text())
		}
	})
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
	d.Table.Columns, d.Table.Digest = *columns, rows.Digest()
	s, err := d.Study(rows)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Cells[0].Subject.(*subject).example(rand.New(rand.NewPCG(3, 3)))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// With next to no noise the law that clients make together is that of the rows, clipped; and so
// is what gradients find.
func TestRivalsWithoutNoise(t *testing.T) {
	budget := release.Privacy{Epsilon: 1e6, Delta: 0.1, Neighbours: release.ReplaceOne}
	for _, intercept := range []bool{true, false} {
		e := onALine(t, intercept)
		s := size{e.statistics.N, e.columns}
		for name, m := range map[string]method{DPPVI: newDPPVI(s, 7, budget), AdaSSP: adaSSP{budget}} {
			f, err := m.fit(context.Background(), e, mechanisms.Simulated(rand.New(rand.NewPCG(1, 1))), rand.New(rand.NewPCG(2, 2)))
			if err != nil {
				t.Fatal(err)
			}
			// The prior, and values rounded to 2⁻²⁰, move coefficients by less than 1e-3.
			if distance := rms(f.theta, e.exact.Mean); distance > 1e-3 {
				t.Errorf("%s, intercept %t: %v, exactly %v", name, intercept, f.theta, e.exact.Mean)
			}
		}
	}
	e := onALine(t, true)
	m := newDPVI(size{e.statistics.N, e.columns}, release.Privacy{Epsilon: 100, Delta: 0.1, Neighbours: release.ReplaceOne})
	m.rate = 1 // no time for the accountant
	f, err := m.fit(context.Background(), e, mechanisms.Simulated(rand.New(rand.NewPCG(1, 1))), rand.New(rand.NewPCG(2, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if distance := rms(f.theta, e.exact.Mean); distance > 0.02 || f.epsilon > 100 {
		t.Errorf("%v, exactly %v; ε = %v", f.theta, e.exact.Mean, f.epsilon)
	}
}

// The regression's density has the gradients it says, and the prior of all methods.
func TestRegressionPrior(t *testing.T) {
	e := onALine(t, true)
	r := newRegression(e)
	theta := []float64{0.3, -0.2, 0.5, -1.2}
	if err := vi.CheckGradients(r, theta); err != nil {
		t.Error(err)
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
	near(t, "log prior", r.LogPrior(grad, theta)-r.LogPrior(grad, other), density(theta)-density(other), 1e-9)
}

// Shape of the prior that DP-VI and DP-PVI take for granted.
func TestBoxPriorIsDiagonal(t *testing.T) {
	prior := model.BoxPrior(model.Shape{P: 3, Intercept: true})
	for i, v := range prior.Theta.Precision {
		if i%5 != 0 && v != 0 {
			t.Errorf("precision %v", prior.Theta.Precision)
		}
	}
	if slices.ContainsFunc(prior.Theta.Mean, func(v float64) bool { return v != 0 }) {
		t.Errorf("mean %v", prior.Theta.Mean)
	}
}
