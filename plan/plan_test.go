package plan_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

func foresee(t *testing.T, o plan.Options) *plan.Forecast {
	t.Helper()
	return must.Get(plan.Foresee(context.Background(), o))(t)
}

func TestForeseeDoesNotDependOnWorkers(t *testing.T) {
	testsize.Full(t, "TestRunIsDeterministic of package calibration has the workers")
	for _, steps := range []int{3, 1} {
		sameForWorkers(t, steps)
	}
}

func sameForWorkers(t *testing.T, steps int) {
	t.Helper()
	var first string
	for _, workers := range []int{1, 3} {
		calls := 0
		f := foresee(t, plan.Options{
			Design: dpreg.UnitDesign(2), Epsilons: []float64{0.1, 3}, Ns: []int64{60}, Releases: 3, Seed: 5, Workers: workers, Steps: steps,
			Progress: func(done, total int) {
				if calls++; done != calls || total != 6 {
					t.Errorf("call %d: %d of %d", calls, done, total)
				}
			},
		})
		var b bytes.Buffer
		must.Do(t, f.WriteJSON(&b))
		switch {
		case first == "":
			first = b.String()
		case first != b.String():
			t.Errorf("one worker:\n%s\nthree:\n%s", first, b.String())
		}
	}
}

// Without noise to speak of the price is 1, and with nothing but noise the prior
// is left, N(0, 2.5²) of a slope. A chain's sd is off by 8 % or so and an average over 20 of
// them by 2 %.
func TestForeseeAtTheEnds(t *testing.T) {
	testsize.Full(t, "simulates releases for some ten seconds")
	f := foresee(t, plan.Options{Design: dpreg.UnitDesign(1), Epsilons: []float64{1e-7, 1e7}, Ns: []int64{200}, Releases: 20, Seed: 1})
	blind, clear, alone := f.Points[0].Slopes[0], f.Points[1].Slopes[0], f.Alone[0]
	must.Near(t, "Price without noise", clear.Price, 1, 0.09)
	must.Near(t, "sd without noise", clear.SD, clear.NoiselessSD, 0.09*clear.NoiselessSD)
	must.Near(t, "width of noise alone", blind.Width, alone.Width, 0.09*alone.Width)
	must.Near(t, "Contraction from noise", blind.Contraction, 0, 5*blind.ContractionError)
	must.Near(t, "sd without noise, of both", blind.NoiselessSD, clear.NoiselessSD, 0.01*clear.NoiselessSD) // their default priors differ
	if !(clear.Contraction > 0.9) {
		t.Errorf("%+v\n%+v", blind, clear)
	}
	must.Near(t, "width of the prior", alone.Width, 2*1.959964*2.5, 1e-5)
}

// Widths of other units are the same widths; pooled slopes are the mean.
func TestForeseeUnits(t *testing.T) {
	o := plan.Options{Design: dpreg.UnitDesign(2), Epsilons: []float64{1}, Ns: []int64{300}, Releases: 3}
	scaled := foresee(t, o)
	o.Pool = true
	pooled := foresee(t, o)
	o.Pool = false
	o.Design = &schema.Design{
		Response:   schema.Column{Name: "income", Lower: 0, Upper: 200},
		Covariates: []schema.Column{{Name: "age", Lower: 20, Upper: 60}, {Name: "educ", Lower: 0, Upper: 10}}, Intercept: true,
	}
	dollars := foresee(t, o)
	mean := 0.0
	for j, factor := range []float64{100. / 20, 100. / 5} {
		a, b := scaled.Points[0].Slopes[j], dollars.Points[0].Slopes[j]
		must.Near(t, "width", b.Width, factor*a.Width, 1e-9*b.Width)
		must.Near(t, "noiseless sd", b.NoiselessSD, factor*a.NoiselessSD, 1e-9*b.SD)
		must.Near(t, "contraction", b.Contraction, a.Contraction, 1e-9)
		must.Near(t, "price", b.Price, a.Price, 1e-9)
		must.Near(t, "prior", dollars.Alone[j].Width, factor*scaled.Alone[j].Width, 1e-12*b.Width)
		mean += a.Width / 2
	}
	must.Near(t, "pooled width", pooled.Points[0].Slopes[0].Width, mean, 1e-9)
	if dollars.Alone[1].Name != "educ" || len(pooled.Alone) != 1 {
		t.Errorf("%+v %+v", dollars.Alone, pooled.Alone)
	}
}

// A large slope seen clearly is always found, on the side on which it is.
func TestForeseeTruth(t *testing.T) {
	for _, truth := range []float64{-0.9, 0.9, 0} {
		f := foresee(t, plan.Options{Design: dpreg.UnitDesign(1), Epsilons: []float64{1e6}, Ns: []int64{5000}, Truth: []float64{truth}, Releases: 4})
		want := 1.0
		if truth == 0 {
			want = 0 // no side to find
		}
		if got := f.Points[0].Slopes[0].Detected; got != want || f.Alone[0].Truth != truth {
			t.Errorf("slope %v: detected %v", truth, got)
		}
	}
}

func TestForeseeNoise(t *testing.T) {
	o := plan.Options{Design: dpreg.UnitDesign(1), Epsilons: []float64{0.5}, Ns: []int64{100}, Releases: 1}
	f := foresee(t, o)
	if n := f.Points[0].Noise; n.Kind != release.Laplace || math.Abs(n.Scale-32./3) > 1e-12 {
		t.Errorf("%+v", n)
	}
	if s := f.Points[0].Slopes[0]; !math.IsNaN(s.WidthError) || math.IsNaN(s.Width) {
		t.Errorf("the error of one release: %+v", s)
	}
	o.Design, o.Delta = dpreg.UnitDesign(5), 1e-2
	if n := foresee(t, o).Points[0].Noise; n.Kind != release.Gaussian {
		t.Errorf("6 columns, δ = 0.01: %+v", n)
	}
}

// What is found for a width is the least of two digits that gives it, and a forecast of it says
// so; where sampling alone is wider nothing is found.
func TestForeseeWidth(t *testing.T) {
	testsize.Full(t, "TestForeseeUnits foresees widths")
	d := &schema.Design{Response: schema.Column{Name: "y", Upper: 200}, Covariates: []schema.Column{{Name: "x", Upper: 2}}, Intercept: true}
	for _, o := range []plan.Options{
		{Ns: []int64{2000}, Width: 30},
		{Epsilons: []float64{2}, Width: 30, Steps: 3},
		{Epsilons: []float64{0.5, 2}, Width: 30, Delta: 1e-6, Neighbours: release.AddRemove},
		{Ns: []int64{2000}, Width: 30, Delta: 1e-6, Steps: 3},
	} {
		o.Design, o.Releases = d, 2
		f := foresee(t, o)
		if len(f.Points) != len(o.Ns)+len(o.Epsilons) || f.Wanted.Name != "x" || len(f.Wanted.Failed) != 0 {
			t.Fatalf("%+v: points %+v, %+v", o, f.Points, f.Wanted)
		}
		for _, p := range f.Points {
			less := o
			less.Width = 0
			least := p.Epsilon
			if o.Epsilons != nil {
				least = float64(p.N)
			}
			step := math.Pow10(int(math.Floor(math.Log10(least)+1e-9)) - 1)
			below := must.Get(strconv.ParseFloat(strconv.FormatFloat(least-step, 'g', 2, 64), 64))(t)
			less.Ns, less.Epsilons = []int64{p.N}, []float64{below}
			if o.Epsilons != nil {
				less.Ns, less.Epsilons = []int64{int64(below)}, []float64{p.Epsilon}
			}
			if now, before := plan.Median(p.Slopes[0]), plan.Median(foresee(t, less).Points[0].Slopes[0]); !(now <= 30 && before > 30 && now > 20) {
				t.Errorf("%+v: a width of %.3g at n = %d, ε = %v; with less %.3g", o, now, p.N, p.Epsilon, before)
			}
		}
	}
	f := foresee(t, plan.Options{Design: d, Releases: 2, Ns: []int64{100, 1_000_000}, Width: 5})
	if len(f.Points) != 1 || f.Points[0].N != 1_000_000 || len(f.Wanted.Failed) != 1 || f.Wanted.Failed[0].N != 100 || !(f.Wanted.Failed[0].Noiseless > 5) {
		t.Errorf("points %+v, %+v", f.Points, f.Wanted)
	}
}

func TestForecastFiles(t *testing.T) {
	f := foresee(t, plan.Options{Design: dpreg.UnitDesign(2), Epsilons: []float64{1, 2}, Ns: []int64{50}, Releases: 1})
	var text bytes.Buffer
	must.Do(t, f.WriteCSV(&text))
	records := must.Get(csv.NewReader(&text).ReadAll())(t)
	if len(records) != 5 || records[1][4] != "x1" || records[4][1] != "2" || records[1][6] != "NA" {
		t.Errorf("%q", records)
	}
	must.Do(t, f.WriteJSON(&text))
	var read struct {
		Format    string
		Simulated bool
		Prior     []struct{ Truth *float64 }
		Assumed   struct{ Columns []plan.AssumedColumn }
		Points    []struct{ Slopes []map[string]any }
	}
	must.Do(t, json.Unmarshal(text.Bytes(), &read))
	if read.Format != plan.Format || !read.Simulated || read.Prior[0].Truth != nil || len(read.Points) != 2 || len(read.Assumed.Columns) != 3 || read.Assumed.Columns[2] != (plan.AssumedColumn{Name: "y", Mean: -0.25, SD: 0.25}) {
		t.Errorf("%+v", read)
	}
	for i, name := range records[0][5:] {
		if _, ok := read.Points[0].Slopes[0][name]; !ok {
			t.Errorf("column %d of the CSV, %s, is no member of the JSON", i+5, name)
		}
	}
}

func TestForeseeRefuses(t *testing.T) {
	good := plan.Options{Design: dpreg.UnitDesign(2), Epsilons: []float64{1}, Ns: []int64{100}, Releases: 1}
	for _, c := range map[string]struct {
		says   string
		change func(*plan.Options)
	}{
		"no design": {"design", func(o *plan.Options) { o.Design = nil }},
		"no ε":      {"ε", func(o *plan.Options) { o.Epsilons = nil }},
		"no n":      {"n", func(o *plan.Options) { o.Ns = nil }},
		"few rows":  {"more than 3 rows", func(o *plan.Options) { o.Ns = []int64{3} }},
		"many rows": {"at most", func(o *plan.Options) { o.Ns = []int64{1 << 60} }},
		"ε":         {"epsilon", func(o *plan.Options) { o.Epsilons = []float64{0} }},
		"δ":         {"delta", func(o *plan.Options) { o.Delta = 2 }},
		"level":     {"level", func(o *plan.Options) { o.Level = 1 }},
		"releases":  {"releases", func(o *plan.Options) { o.Releases = -1 }},
		"truth":     {"slopes", func(o *plan.Options) { o.Truth = []float64{1} }},
		"infinity":  {"infinite", func(o *plan.Options) { o.Truth = []float64{1, math.Inf(1)} }},
		"steps":     {"--steps 9", func(o *plan.Options) { o.Steps = 9 }},
		"width":     {"positive", func(o *plan.Options) { o.Width, o.Ns = math.NaN(), nil }},
		"both":      {"both are given", func(o *plan.Options) { o.Width = 1 }},
		"neither":   {"neither is given", func(o *plan.Options) { o.Width, o.Ns, o.Epsilons = 1, nil, nil }},
		"no slope":  {"slope 2: there are 2", func(o *plan.Options) { o.Width, o.Ns, o.Slope = 1, nil, 2 }},
		"prior":     {"prior", func(o *plan.Options) { o.Prior = model.DefaultPrior(model.Shape{P: 1, Intercept: true}) }},
	} {
		o := good
		c.change(&o)
		must.Fail(t, must.Err(plan.Foresee(context.Background(), o)), c.says)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := good
	o.Releases = 1000
	o.Progress = func(int, int) { cancel() }
	if _, err := plan.Foresee(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestAssume: what is stated stands, what is not is an assumption that values within the bounds
// can meet.
func TestAssume(t *testing.T) {
	d := &schema.Design{Response: schema.Column{Name: "income", Lower: 0, Upper: 200}, Intercept: true,
		Factors: []schema.Factor{{Name: "region", Levels: []string{"a", "b", "c", "d"}}},
		Covariates: []schema.Column{{Name: "age", Lower: 20, Upper: 60}, {Name: "regionb", Upper: 1, Factor: "region", Level: "b"},
			{Name: "regionc", Upper: 1, Factor: "region", Level: "c"}, {Name: "regiond", Upper: 1, Factor: "region", Level: "d"}}}
	must.Do(t, d.Validate())
	a := must.Get(plan.Assume(model.Normal, d, map[string]float64{"income": 199, "regiond": 0.5}, map[string]float64{"age": 8}, 0))(t)
	share := math.Sqrt(0.25 * 0.75)
	want := []plan.AssumedColumn{{"age", 35, 8}, {"regionb", 0.25, share}, {"regionc", 0.25, share}, {"regiond", 0.5, 0.5}, {"income", 199, math.Sqrt(199)}}
	if !slices.Equal(a.Columns, want) {
		t.Errorf("%+v", a.Columns)
	}
	for says, stated := range map[string][2]map[string]float64{
		`"height" is none`:     {{"height": 1}, nil},
		"not within its bound": {{"age": 60}, nil},
		"at most 19.4":         {nil, {"age": 30}},
		"at most 0.433":        {nil, {"regionb": -1}},
	} {
		must.Fail(t, must.Err(plan.Assume(model.Normal, d, stated[0], stated[1], 0)), says)
	}
}
