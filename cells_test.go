package dpreg_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// applicants are Berkeley's, of testdata/ucb.counts.csv, published by gender and department.
func applicants(t *testing.T, pr release.Privacy, formula string) *release.Release {
	t.Helper()
	file := must.Get(os.Open("testdata/ucb.counts.csv"))(t)
	defer file.Close()
	lines := must.Get(csv.NewReader(file).ReadAll())(t)
	s := &schema.Schema{Columns: []schema.Column{{Name: "Gender", Type: "string", Levels: []string{"Male", "Female"}},
		{Name: "Dept", Type: "string", Levels: []string{"A", "B", "C", "D", "E", "F"}}, {Name: "admitted", Type: "boolean", Upper: 1}}}
	d := must.Get(s.Design("admitted ~ Gender + Dept"))(t)
	var rows []float64
	for _, line := range lines[1:] {
		row := []float64{-1, -1, -1, -1, -1, -1, -1}
		for j, c := range d.Covariates {
			if c.Level == line[0] || c.Level == line[1] {
				row[j] = 1
			}
		}
		if line[2] == "Admitted" {
			row[6] = 1
		}
		count := must.Get(strconv.Atoi(line[3]))(t)
		for range count {
			rows = append(rows, row...)
		}
	}
	r, err := custody.Publish(context.Background(), custody.Order{Rows: custody.Scaled{Name: "rows", Rows: rows}, Design: d, ByLevel: d.Categorical(), Steps: 1,
		Privacy: pr, Entropy: mechanisms.Simulated(rand.New(rand.NewPCG(8, 1))), NoLedger: true})
	must.Do(t, err)
	r, err = r.Select(formula)
	must.Do(t, err)
	return r
}

// TestCellsAreMaximumLikelihood compares sums by cells of hardly any noise with R 4.2.2, and so for models of one factor,
//
//	glm(I(Admit == "Admitted") ~ Gender + Dept, binomial, as.data.frame(UCBAdmissions), weights = Freq)
func TestCellsAreMaximumLikelihood(t *testing.T) {
	for formula, glm := range map[string][][2]float64{
		"":                  {{0.5821, 0.0690}, {0.0999, 0.0808}, {-0.0434, 0.1098}, {-1.2626, 0.1066}, {-1.2946, 0.1058}, {-1.7393, 0.1261}, {-3.3065, 0.1700}},
		"admitted ~ Gender": {{-0.2201, 0.0388}, {-0.6104, 0.0639}},
		"admitted ~ Dept":   {{0.5935, 0.0684}, {-0.0506, 0.1097}, {-1.2091, 0.0973}, {-1.2583, 0.1015}, {-1.6830, 0.1173}, {-3.2691, 0.1671}},
	} {
		if testing.Short() && formula != "" {
			continue
		}
		f, err := dpreg.Infer(context.Background(), dpreg.One(applicants(t, replaced(1e4), formula)), dpreg.Options{Family: model.Binomial,
			Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: testsize.Of(300, 1000), Seed: 1}})
		must.Do(t, err)
		for k, want := range glm {
			p := f.Summary(dpreg.Original, 0.95).Parameters[k]
			if off := (p.Mean - want[0]) / want[1]; math.Abs(off) > 0.3 || math.Abs(p.SD/want[1]-1) > 0.2 {
				t.Errorf("%s: %s: %v ± %v, and R's glm %v ± %v", formula, p.Name, p.Mean, p.SD, want[0], want[1])
			}
		}
		for k, price := range f.PriceOfPrivacy() {
			if math.Abs(price-1) > 0.15 {
				t.Errorf("%s: the price of coefficient %d is %v", formula, k, price)
			}
		}
	}
}

// TestCellsMerge: of a model of one factor sums are those of rows by its levels, and noise is that of as many cells as a
// level has.
func TestCellsMerge(t *testing.T) {
	for _, pr := range []release.Privacy{replaced(1e4), {Epsilon: 1e4, Neighbours: release.AddRemove}} {
		all := applicants(t, pr, "")
		isReadAgain(t, all)
		isReadAgain(t, applicants(t, pr, "admitted ~ Gender * Dept"))
		for formula, want := range map[string]struct {
			sums []float64
			of   float64
		}{
			"admitted ~ Gender": {[]float64{2691, 1835, 2*1198 - 2691, 2*557 - 1835}, 6},
			"admitted ~ 1":      {[]float64{4526, 2*1755 - 4526}, 12},
			"admitted ~ Dept":   {[]float64{933, 585, 918, 792, 584, 714, 2*601 - 933, 2*370 - 585, 2*322 - 918, 2*269 - 792, 2*147 - 584, 2*46 - 714}, 2},
		} {
			r := must.Get(all.Select(formula))(t)
			o := must.Get(model.Observe(r))(t)
			isReadAgain(t, r)
			for i, v := range want.sums[len(o.Told.Sums)-len(o.Told.Counts):] { // of all cells a public n has no count
				if got := o.Told.Z[i]; math.Abs(got-v) > 0.1 {
					t.Errorf("%s: sum %d is %v, not %v", formula, i, got, v)
				}
				if got, one := o.Told.Variance(i), math.Pow(all.Noise.SD(), 2); math.Abs(got/one-want.of) > 1e-9 {
					t.Errorf("%s: noise on sum %d has the variance of %v cells", formula, i, got/one)
				}
			}
		}
	}
}

// isReadAgain: a file has what a model's release has, that draws are saved beside.
func isReadAgain(t *testing.T, r *release.Release) {
	t.Helper()
	var file, second bytes.Buffer
	must.Get(r.WriteTo(&file))(t)
	first := file.String()
	again := must.Get(release.Read(&file))(t)
	must.Get(again.WriteTo(&second))(t)
	if second.String() != first || !reflect.DeepEqual(again.Levels.Coding, r.Levels.Coding) {
		t.Errorf("%s: %v", r.Schema.Formula(), again)
	}
}

// TestCellsAreChecked: a check finds sums of cells that no rows of the model have, and takes those that they have.
func TestCellsAreChecked(t *testing.T) {
	testsize.Full(t, "TestByLevelChecked has a check of sums by levels")
	r := applicants(t, replaced(10), "")
	p := func() float64 {
		f := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Family: model.Binomial, Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 300, Seed: 1}}))(t)
		c := must.Get(check.Fit(context.Background(), f, check.Options{}))(t)
		return c.All.P
	}
	if all := p(); all < 0.02 { // women were admitted to department A more often than the model has it
		t.Errorf("p = %v", all)
	}
	told := r.Measured()
	told[len(told)-3] += 400 // admitted women in E, of whom 94 were
	r.TakeLevels(r.Levels, told)
	if all := p(); all > 0.02 {
		t.Errorf("of sums that no rows have p = %v", all)
	}
}

// TestCellsTellRows: of noise so small that n is one number there is nothing to converge.
func TestCellsTellRows(t *testing.T) {
	testsize.Full(t, "TestCellsAreMaximumLikelihood converges")
	r := applicants(t, release.Privacy{Epsilon: 1e4, Neighbours: release.AddRemove}, "admitted ~ Gender")
	f := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Family: model.Binomial, Plan: mcmc.Plan{Chains: 2, Warmup: 300, Seed: 1}}))(t)
	if ok, reason := f.Converged(); !ok {
		t.Error(reason)
	}
}

// TestCellsOfLatentRows: where n is not public it is drawn, and products of factors are no normal covariates.
func TestCellsOfLatentRows(t *testing.T) {
	testsize.Full(t, "TestCellsTellRows has a latent n")
	r := applicants(t, release.Privacy{Epsilon: 1, Neighbours: release.AddRemove}, "admitted ~ Gender * Dept")
	f := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 300, Seed: 1}}))(t)
	all := f.Summary(dpreg.Original, 0.95)
	for _, w := range all.Warnings {
		if strings.Contains(w, "modelled as normal, and") {
			t.Error(w)
		}
	}
	n := all.Parameters[len(all.Parameters)-1]
	if n.Name != "n" || !(n.SD > 1 && n.SD < 2*r.Noise.SDOf(r.NNoise)) || math.Abs(n.Mean-4526) > 5*n.SD {
		t.Errorf("%s: %v ± %v", n.Name, n.Mean, n.SD)
	}
}
