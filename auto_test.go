package dpreg_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// releaseOf returns a release of so many rows of two columns.
func releaseOf(n int64) *release.Release {
	zz := 0.5 * float64(n)
	return &release.Release{Format: release.Format,
		Schema: schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1},
			Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}, Intercept: true},
		N: n, Noise: release.Noise{Kind: release.Laplace, Scale: 5},
		Statistics: release.Statistics{SumX: []float64{0}, SumXX: [][]float64{{zz}}, SumY: 0, SumXY: []float64{0}, SumYY: &zz},
	}
}

// Auto takes an engine that can do what is asked, and says why; a method that was
// named is taken without a word.
func TestAuto(t *testing.T) {
	plan := mcmc.Plan{Chains: 1, Warmup: 100, Draws: 10}
	for _, c := range []struct {
		n       int64
		options dpreg.Options
		method  string
		why     string
	}{
		{100, dpreg.Options{}, "mcmc-exact", "does not depend on n"},
		{3, dpreg.Options{Method: dpreg.Auto}, "mcmc-exact", "exact"},
		{2, dpreg.Options{}, "mcmc-ind", "n = 2 rows of 2 columns"},
		{100, dpreg.Options{Kernel: "plain"}, "gibbs-ss-update", "a kernel"},
		{20, dpreg.Options{ModelClamping: true}, "mcmc-ind", "clamping"},
		{100, dpreg.Options{Method: "naive"}, "naive", ""},
	} {
		c.options.Plan = plan
		f, err := dpreg.Infer(t.Context(), dpreg.One(releaseOf(c.n)), c.options)
		if err != nil {
			t.Errorf("n = %d, %+v: %v", c.n, c.options, err)
			continue
		}
		if f.Method != c.method || (f.Why == "") != (c.why == "") || !strings.Contains(f.Why, c.why) {
			t.Errorf("n = %d, %+v: %s, because %q", c.n, c.options, f.Method, f.Why)
		}
	}
	// What only mcmc-ind can do, it does not do unasked for many rows.
	many := releaseOf(25_000)
	for want, custodians := range map[string][]dpreg.Custodian{
		"here are 25000: it alone can model what clamping did": {{Name: "a", Release: many}},
		"here are 25002: it alone":                             {{Name: "a", Release: many}, {Name: "b", Release: releaseOf(2)}},
	} {
		_, err := dpreg.Infer(t.Context(), custodians, dpreg.Options{ModelClamping: true, Plan: plan})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--method mcmc-ind") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	few := []dpreg.Custodian{{Name: "a", Release: many}, {Name: "b", Release: releaseOf(2)}}
	must.Fail(t, must.Err(dpreg.Infer(t.Context(), few, dpreg.Options{Plan: plan})), "leave releases of so few rows out")
	for _, o := range []dpreg.Options{
		{Method: "mcmc-exact", Kernel: "plain"}, {Method: "mcmc-exact", ModelClamping: true}, {Method: "best"},
	} {
		if _, err := dpreg.Infer(t.Context(), dpreg.One(releaseOf(100)), o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	must.Fail(t, must.Err(dpreg.Infer(t.Context(), dpreg.One(releaseOf(2)), dpreg.Options{Method: "mcmc-exact", Plan: plan})), "mcmc-ind")
}

// Where the sums of a few columns are clear of their noise auto takes the engine that is faster
// there.
func TestAutoClearOfNoise(t *testing.T) {
	correlated, counted, rows, large := *releaseOf(1000), *releaseOf(1000), *releaseOf(39), *releaseOf(100_000)
	correlated.Statistics.SumXY = []float64{490} // of Σx² = Σy² = 500
	counted.NNoise, counted.Privacy = 7.5, &release.Privacy{Epsilon: 1, Neighbours: release.AddRemove}
	counted.Noise.Sensitivity, counted.Noise.Scale = 6, 7.5
	rows.Noise.Scale, large.Noise.Scale = 0.1, 900
	one, clear := dpreg.One, releaseOf(1000)
	two := func(a, b *release.Release) []dpreg.Custodian {
		return []dpreg.Custodian{{Name: "a", Release: a}, {Name: "b", Release: b}}
	}
	for name, c := range map[string]struct {
		custodians []dpreg.Custodian
		sameRows   bool
		method     string
		pooling    string
	}{
		"clear":                     {one(clear), false, "gibbs-ss-update", ""},
		"two that are":              {two(clear, clear), false, "gibbs-ss-update", ""},
		"measured twice":            {two(clear, clear), true, "mcmc-exact", ""},
		"one of two hidden":         {two(clear, releaseOf(100)), false, "mcmc-exact", ""},
		"nearly collinear":          {one(&correlated), false, "mcmc-exact", ""},
		"a noisy number of rows":    {one(&counted), false, "mcmc-exact", ""},
		"noise beyond chance":       {one(&large), false, "mcmc-exact", ""},
		"few rows":                  {one(&rows), false, "mcmc-exact", ""},
		"ten covariates":            {one(wide(10)), false, "gibbs-ss-update", ""},
		"more columns than it does": {one(wide(11)), false, "mcmc-exact", ""},
		"noise beyond chance, two pooled in part": {two(&large, &large), false, "gibbs-ss-update", dpreg.PartialPooling},
		"one of two pooled in part hidden":        {two(clear, releaseOf(100)), false, "mcmc-exact", dpreg.PartialPooling},
	} {
		f, err := dpreg.Infer(t.Context(), c.custodians, dpreg.Options{SameRows: c.sameRows, Pooling: c.pooling, Plan: mcmc.Plan{Chains: 1, Warmup: 100, Draws: 10}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if f.Method != c.method || strings.Contains(f.Why, "noise is small") != (f.Method == "gibbs-ss-update") {
			t.Errorf("%s: %s, because %q", name, f.Method, f.Why)
		}
	}
}

// wide is releaseOf for p covariates and 1000 rows.
func wide(p int) *release.Release {
	r := releaseOf(1000)
	r.Schema, r.Statistics = *dpreg.UnitDesign(p), release.Statistics{SumX: make([]float64, p), SumXY: make([]float64, p), SumYY: r.Statistics.SumYY}
	for j := range p {
		r.Statistics.SumXX = append(r.Statistics.SumXX, make([]float64, p))
		r.Statistics.SumXX[j][j] = *r.Statistics.SumYY
	}
	return r
}

// With many releases auto takes the engine whose cost grows slowest.
func TestAutoOfMany(t *testing.T) {
	var custodians []dpreg.Custodian
	for j := range 10 {
		custodians = append(custodians, dpreg.Custodian{Name: fmt.Sprintf("%d.json", j+1), Release: releaseOf(100)})
	}
	for many, method := range map[int]string{9: "mcmc-exact", 10: "gibbs-ss-update"} {
		f := must.Get(dpreg.Infer(t.Context(), custodians[:many], dpreg.Options{Plan: mcmc.Plan{Chains: 1, Warmup: 100, Draws: 10}}))(t)
		if f.Method != method {
			t.Errorf("%d releases: %s, because %q", many, f.Method, f.Why)
		}
	}
	counted := *releaseOf(100)
	counted.NNoise, counted.Privacy = 7.5, &release.Privacy{Epsilon: 1, Neighbours: release.AddRemove}
	counted.Noise.Sensitivity, counted.Noise.Scale = 6, 7.5
	for name, other := range map[string]*release.Release{"few rows": releaseOf(39), "a noisy number of rows": &counted} {
		custodians[4].Release = other
		f, err := dpreg.Infer(t.Context(), custodians, dpreg.Options{Plan: mcmc.Plan{Chains: 1, Warmup: 100, Draws: 10}})
		if err != nil {
			t.Fatalf("one of %s: %v", name, err)
		}
		if f.Method != "mcmc-exact" {
			t.Errorf("one of %s: %s, because %q", name, f.Method, f.Why)
		}
	}
}

func TestCheckable(t *testing.T) {
	for _, m := range append(dpreg.Methods(), nil) {
		name := dpreg.Auto
		if m != nil {
			name = m.Name()
		}
		f, err := dpreg.Infer(t.Context(), dpreg.One(releaseOf(100)), dpreg.Options{Method: name, Plan: mcmc.Plan{Chains: 1, Warmup: 100, Draws: 10}})
		if err != nil {
			continue // gibbs-ss-noisy needs moments
		}
		if _, err := check.Fit(t.Context(), f, check.Options{}); (err == nil) != dpreg.Checkable(name) {
			t.Errorf("%s: Checkable %v, Check %v", name, dpreg.Checkable(name), err)
		}
	}
}
