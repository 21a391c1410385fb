package calibration

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// normalPopulation is a study of 5000 rows of sd 0.3 and a slope of 1/2, with bounds [-1, 1].
func normalPopulation(t *testing.T, prior string) (*Design, *Rows) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 1))
	rows := must.Get(ReadRows(func(yield func([]float64, error) bool) {
		for range 5000 {
			v := []float64{0.3 * rng.NormFloat64(), 0}
			v[1] = v[0]/2 + 0.2*rng.NormFloat64()
			clampRow(v)
			if !yield(v, nil) {
				return
			}
		}
	}, 2))(t)
	d := &Design{Format: DesignFormat, Data: Resampled, Ns: []int64{200}, Epsilons: []float64{1e5}, Prior: PriorSpec{Name: DefaultPrior}, Trials: testsize.Of(10, 60),
		Population: &Table{Name: "rows.csv", Columns: *dpreg.UnitDesign(1), Rows: rows.Len(), Digest: rows.Digest()},
		Arms:       PopulationArms([]string{PopulationMethod}, nil, []string{ExactSensitivity})}
	if prior != "" {
		d.Prior = PriorSpec{File: json.RawMessage(prior)}
	}
	return d, rows
}

func populationSummary(t *testing.T, d *Design, rows *Rows) *Summary {
	t.Helper()
	s := must.Get(d.Study(rows))(t)
	return s.Summarise(run(t, s, Options{}))
}

// With next to no noise intervals are those of least squares, but for sigma's, which are wider: the
// kurtosis is unknown. 2000 draws leave the ends of an
// interval a standard error of 5 % of the posterior's: a hit differs in one trial of a hundred,
// and in more than 5 of 60 by chance once in 10⁴ studies.
func TestPopulationWithoutNoise(t *testing.T) {
	testsize.Full(t, "TestCalibratePopulation of cmd/dpreg runs a study")
	d, rows := normalPopulation(t, "")
	s := populationSummary(t, d, rows)
	c := s.Cells[0]
	if s.Population != "rows.csv" || s.Uniform || c.Failed > 0 || len(c.Quantities) != 3 || *c.Unmixed > 0 {
		t.Fatalf("%+v", c)
	}
	for _, q := range c.Quantities {
		of := q.Coefficient
		most, widest := 5, 1.1
		if q.Name == sigmaName {
			most, widest = d.Trials, 5
		}
		if differ := q.Coverage[last].Hits - of.LeastSquares[last].Hits; differ < -5 || differ > most || q.KS != nil {
			t.Errorf("%s: %d hits, %d of least squares", q.Name, q.Coverage[last].Hits, of.LeastSquares[last].Hits)
		}
		if l := of.LeastSquares[last].Hits; l < testsize.Of(7, 50) { // of 10 and 60 at 95 %: once in 1000
			t.Errorf("%s: %d hits of least squares", q.Name, l)
		}
		if !(*of.Ratio > 0.97 && *of.Ratio < widest) || *of.Contraction < 0.99 || of.Sharp.Of != d.Trials {
			t.Errorf("%s: %+v", q.Name, of)
		}
	}
	if v := Judge(s); v.Cells != 1 || v.Failing != 0 || v.Worst.Name != "x1" || v.Sharp == nil {
		t.Errorf("%+v", v)
	}
}

// Rows that are dealt to parts have intervals that are wider, and as right.
func TestPopulationInParts(t *testing.T) {
	testsize.Full(t, "TestPopulationWithoutNoise has rows in one part")
	d, rows := normalPopulation(t, "")
	d.Parts, d.Ns, d.Trials = 5, []int64{400}, 3
	d.Arms = PopulationArms([]string{"gibbs-ss-update"}, []string{"exact"}, []string{ExactSensitivity})
	slope := populationSummary(t, d, rows).Cells[0].Quantities[1]
	if of := slope.Coefficient; slope.Coverage[last].Hits < 2 || !(*of.Ratio > 1.1 && *of.Ratio < 3) {
		t.Errorf("%d hits, %v times as wide", slope.Coverage[last].Hits, *of.Ratio)
	}
	d.Data = Clamped
	must.Fail(t, d.validateGrid(), "parts: 5")
}

// A prior that is far too narrow is found.
func TestPopulationFindsNarrowPrior(t *testing.T) {
	testsize.Planted(t)
	d, rows := normalPopulation(t, `{"theta":{"mean":[0,0],"precision":[[1,0],[0,1e6]]}}`)
	d.Ns, d.Epsilons, d.Trials = []int64{1000}, []float64{3, 0.1}, 10
	s := populationSummary(t, d, rows)
	v := Judge(s)
	if v.Failing != len(d.Epsilons) || v.Worst.Coverage[last].Share > 0.5 || v.Worst.Margin() > -0.4 || v.Worst.Name != "x1" {
		t.Errorf("%+v", v.Worst)
	}
}

// OrdinaryLeastSquares is what the normal equations in the data's units have, and leaves out a level
// that no row has. Scaled values are multiples of 2⁻¹⁰, so that nothing is rounded.
func TestLeastSquares(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		d := &schema.Design{Intercept: intercept, Response: schema.Column{Name: "y", Lower: -512, Upper: 512}, Covariates: []schema.Column{
			{Name: "a", Lower: 0, Upper: 1024}, {Name: "none", Lower: 0, Upper: 1}, {Name: "b", Lower: -1024, Upper: 1024}}}
		rng, frame, sums := rand.New(rand.NewPCG(5, 5)), d.Frame(), ssp.NewAccumulator(4)
		const n = 40
		var x, y []float64
		for range n {
			a := float64(rng.IntN(1024))
			row := []float64{a, 0, math.Floor(a/2) + float64(rng.IntN(200)), 100 - math.Floor(a/4) + float64(rng.IntN(100))}
			if intercept {
				x = append(x, 1)
			}
			x, y = append(x, row[0], row[2]), append(y, row[3])
			frame.Scale(row, row)
			must.Do(t, sums.AddRows(row))
		}
		theta, se := OrdinaryLeastSquares(sums.Statistics(), d)
		q := len(x) / n
		if open := q - 1; !math.IsNaN(theta[open]) || !math.IsNaN(se[open]) {
			t.Errorf("a column of zeros: %v, %v", theta, se)
		}
		theta, se = append(theta[:q-1:q-1], theta[q]), append(se[:q-1:q-1], se[q])
		var want, residual mat.VecDense
		design := mat.NewDense(n, q, x)
		must.Do(t, want.SolveVec(design, mat.NewVecDense(n, y)))
		residual.MulVec(design, &want)
		residual.SubVec(mat.NewVecDense(n, y), &residual)
		var gram, inverse mat.Dense
		gram.Mul(design.T(), design)
		must.Do(t, inverse.Inverse(&gram))
		for j := range q {
			sd := math.Sqrt(mat.Dot(&residual, &residual) / float64(n-q) * inverse.At(j, j))
			if math.Abs(theta[j]-want.AtVec(j)) > 1e-8*math.Abs(want.AtVec(j)) || math.Abs(se[j]-sd) > 1e-8*sd {
				t.Errorf("intercept %v, %d: %v ± %v, want %v ± %v", intercept, j, theta[j], se[j], want.AtVec(j), sd)
			}
		}
	}
}

// A trial in which a coefficient is open says so, and is not counted for least squares.
func TestPopulationSummary(t *testing.T) {
	learned := 0.95
	score := func(hit bool, l *LeastSquares) Score {
		return Score{Name: "x", Hits: [4]bool{last: hit}, Coefficient: &Coefficient{Width: 4, Contraction: &learned, LeastSquares: l}}
	}
	trials := []*Trial{
		{Scores: []Score{score(true, &LeastSquares{Width: 2, Hits: [4]bool{last: true}})}, Measures: []Measure{{RHat, 1.2}}},
		{Trial: 1, Scores: []Score{score(false, nil)}, Measures: []Measure{{RHat, 1}}},
		{Trial: 2, Error: "refused"},
	}
	study := &Study{Trials: 3, Population: "p", Cells: []Cell{{Setting: Setting{N: 5, Method: "m"}}}}
	s := study.Summarise(trials)
	c := s.Cells[0]
	q := c.Quantities[0]
	if of := q.Coefficient; *c.Unmixed != 0.5 || c.Failed != 1 || q.Coverage[last].Of != 2 || of.LeastSquares[last].Of != 1 || *of.Ratio != 2 || of.Width != 4 || of.Sharp.Of != 2 || of.Sharp.Hits != 1 {
		t.Errorf("%+v, %+v", c, q.Coefficient)
	}
	if m := q.Margin(); math.Abs(m+0.4) > 1e-12 {
		t.Errorf("margin %v", m)
	}
	text := written(t, study, trials)
	must.Say(t, text, "\np,5,0,0,m,,,,3,1,0,x,", "ls_hit95,rhat,ess", `"ratio": 2`)
}

// What a design of a population may not say, and rows that are not its own.
func TestPopulationRefuses(t *testing.T) {
	for says, change := range map[string]func(*Design, *Rows){
		"are resampled":       func(d *Design, _ *Rows) { d.Data = Clamped },
		"for simulated ones":  func(d *Design, _ *Rows) { d.X = NormalX },
		"p: the columns":      func(d *Design, _ *Rows) { d.Ps = []int{1} },
		"columns: ":           func(d *Design, _ *Rows) { d.Population.Columns.Covariates, d.Population.Columns.Intercept = nil, false },
		"not those of":        func(_ *Design, r *Rows) { r.At(7)[0] = 0 },
		`coefficient of "x1"`: func(d *Design, r *Rows) { constant(r); d.Population.Digest = r.Digest() },
	} {
		d, rows := normalPopulation(t, "")
		change(d, rows)
		if _, err := d.Study(rows); err == nil || !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	d, rows := normalPopulation(t, "")
	d.Data, d.Population, d.Ps, d.X = Clamped, nil, []int{1}, NormalX
	if _, err := d.Study(rows); err == nil {
		t.Error("rows for a study that simulates them")
	}
}

func constant(r *Rows) {
	for i := range int(r.Len()) {
		r.At(i)[0] = 0.25
	}
}
