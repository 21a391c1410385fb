package dpreg_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// parts splits the rows of an example among custodians whose boxes are as wide as
// the example's or wider, each in its own way, the first that of the example.
func (e example) parts(t *testing.T, sizes []int, scale float64) (custodians []dpreg.Custodian) {
	t.Helper()
	from := 0
	for j, size := range sizes {
		d := *e.design
		d.Covariates = slices.Clone(d.Covariates)
		d.Covariates[0].Upper += 0.3 * float64(j) * (d.Covariates[0].Upper - d.Covariates[0].Lower)
		d.Response.Lower -= 0.2 * float64(j) * (d.Response.Upper - d.Response.Lower)
		part := example{design: &d, rows: e.rows[from : from+size]}
		a, f, v := ssp.NewAccumulator(len(e.rows[0])), d.Frame(), make([]float64, len(e.rows[0]))
		for _, row := range part.rows {
			f.Scale(v, row)
			must.Do(t, a.AddRows(v))
		}
		part.statistics = a.Statistics()
		custodians = append(custodians, dpreg.Custodian{Name: fmt.Sprintf("part%d.json", j+1), Release: part.written(scale)})
		from += size
	}
	return custodians
}

// exactly is the posterior of exact statistics in the hull of the custodians' boxes.
func exactly(t *testing.T, e example, custodians []dpreg.Custodian, o dpreg.Options) *dpreg.Fit {
	t.Helper()
	_, common, err := dpreg.Join(custodians)
	must.Do(t, err)
	a, f, v := ssp.NewAccumulator(len(e.rows[0])), common.Frame(), make([]float64, len(e.rows[0]))
	for _, row := range e.rows {
		f.Scale(v, row)
		must.Do(t, a.AddRows(v))
	}
	return must.Get(dpreg.NonPrivate(context.Background(), a.Statistics(), common, o))(t)
}

// TestJointlyNoiselessIsPooled: where noise is negligible beside sampling (scale 0.01
// beside Σ(y − θᵀx)², which varies by 0.2: 0.1 would add a sixth to the sd of σ), the joint posterior of three custodians with
// boxes of their own is that of all rows together, by either engine. Each of the 12 bounds has a
// false-alarm rate of 1e-7, and slack for the noise.
func TestJointlyNoiselessIsPooled(t *testing.T) {
	testsize.Full(t, "TestPartialNoiseless and TestJointlyMethodsAgree have such releases")
	e := open(t, "pums", "income ~ educ", nil)
	e.keep(t, 800)
	custodians := e.parts(t, []int{100, 300, 400}, 0.01)
	want := exactly(t, e, custodians, dpreg.Options{Plan: mcmc.Plan{Chains: 4, Draws: 5000, Seed: 1}}).Draws(dpreg.Original)
	for _, o := range []dpreg.Options{
		{Method: "mcmc-exact"}, {Method: "gibbs-ss-update", Covariates: dpreg.SharedCovariates},
		{Method: "mcmc-exact", Covariates: dpreg.SharedCovariates}, {Method: "gibbs-ss-update"},
	} {
		o.Plan = mcmc.Plan{Chains: 2, Warmup: 400, Draws: 800, Seed: 1}
		fit := must.Get(dpreg.Infer(context.Background(), custodians, o))(t)
		got := fit.Draws(dpreg.Original)
		scores(t, got, want.Map([]string{"theta[0]", "theta[1]", "sigma"}, func(dst, src []float64) {
			dst[0], dst[1], dst[2] = src[0], src[1], src[3]
		}), func(name string, zMean, zSD, dMean, ratio float64) {
			if !(math.Abs(zMean) < 5.5 || math.Abs(dMean) < 0.02) || !(math.Abs(zSD) < 5.5 || math.Abs(ratio-1) < 0.02) {
				t.Errorf("%s, covariates %q, %s: means %.1f errors apart, sds %.1f", o.Method, o.Covariates, name, zMean, zSD)
			}
		})
	}
}

// TestJointlyMethodsAgree: three engines have one posterior of the same releases. Each
// of the 6 bounds has a false-alarm rate of 4e-8. TestMethodsAgreeOnSeveral of package exact has more draws.
func TestJointlyMethodsAgree(t *testing.T) {
	e := open(t, "pums", "income ~ educ", nil)
	custodians := e.parts(t, []int{40, 25, 60}, 2)
	draws := map[string]*posterior.Draws{}
	methods := []string{"gibbs-ss-update", "mcmc-ind"}[:testsize.Of(1, 2)] // TestSitesSBC is of the last
	kept := map[string]int{"mcmc-exact": 400, "gibbs-ss-update": 800, "mcmc-ind": 80}
	for _, method := range append([]string{"mcmc-exact"}, methods...) {
		fit := must.Get(dpreg.Infer(context.Background(), custodians, dpreg.Options{Method: method, Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: kept[method], Seed: 1}}))(t)
		draws[method] = fit.Draws(dpreg.Scaled)
	}
	for _, method := range methods {
		scores(t, draws[method], draws["mcmc-exact"], func(name string, zMean, zSD, _, _ float64) {
			if name != "sigma2" && !(math.Abs(zMean) < 5.5 && math.Abs(zSD) < 5.5) {
				t.Errorf("%s, %s: means %.1f Monte Carlo errors from those of mcmc-exact, sds %.1f", method, name, zMean, zSD)
			}
		})
	}
}

// TestJointlyMethodsAgreeOnCounts: with shared covariates and numbers of rows that are noisy,
// two engines have one posterior. Each of the 20 bounds has a false-alarm rate of 4e-8.
func TestJointlyMethodsAgreeOnCounts(t *testing.T) {
	testsize.Full(t, "TestJointlyMethodsAgree has rows that are counted without noise")
	custodians := open(t, "pums", "income ~ educ", nil).parts(t, []int{60, 25, 150}, 5)
	for _, c := range custodians {
		c.Release.Privacy = &release.Privacy{Epsilon: 1.2, Neighbours: release.AddRemove}
		c.Release.Noise.Sensitivity, c.Release.NNoise = 6, 5
	}
	o := dpreg.Options{Covariates: dpreg.SharedCovariates}
	o.Plan = mcmc.Plan{Chains: 2, Warmup: 1000, Draws: 5000, Seed: 1}
	draws := map[string]*posterior.Draws{}
	for _, o.Method = range []string{"mcmc-exact", "gibbs-ss-update"} {
		fit := must.Get(dpreg.Infer(context.Background(), custodians, o))(t)
		draws[o.Method] = fit.Draws(dpreg.Scaled)
	}
	counts := 0
	scores(t, draws["gibbs-ss-update"], draws["mcmc-exact"], func(name string, zMean, zSD, _, _ float64) {
		if strings.HasPrefix(name, "n[") {
			counts++
		}
		if name != "sigma2" && !(math.Abs(zMean) < 5.5 && math.Abs(zSD) < 5.5) {
			t.Errorf("%s: means %.1f Monte Carlo errors apart, sds %.1f", name, zMean, zSD)
		}
	})
	if counts != len(custodians) {
		t.Errorf("%d numbers of rows among %v", counts, draws["mcmc-exact"].Names)
	}
}

// TestJointlyPartial: names, labels and units of what partial pooling has more.
func TestJointlyPartial(t *testing.T) {
	e := open(t, "pums", "income ~ educ", nil)
	custodians := e.parts(t, []int{300, 300}, 2)
	fit := must.Get(dpreg.Infer(context.Background(), custodians, dpreg.Options{Pooling: dpreg.PartialPooling, Plan: brief(3)}))(t)
	s := fit.Summary(dpreg.Original, 0.9)
	want := []string{"(Intercept)", "educ", "sigma2", "sigma", "spread((Intercept))", "spread(educ)", "spread(log sigma)",
		"(Intercept) @ part1.json", "educ @ part1.json", "sigma @ part1.json", "(Intercept) @ part2.json", "educ @ part2.json", "sigma @ part2.json"}
	for i, p := range s.Parameters {
		if p.Label != want[i] {
			t.Errorf("parameter %d is %q, want %q", i, p.Label, want[i])
		}
		if !(p.SD > 0) {
			t.Errorf("%s does not move", p.Label)
		}
	}
	if len(s.Parameters) != len(want) || !strings.Contains(strings.Join(s.Warnings, ""), "partial pooling of 2 custodians") {
		t.Errorf("%d parameters, warnings %q", len(s.Parameters), s.Warnings)
	}
	for k, share := range fit.Shrinkage(dpreg.Original) {
		if !(share > -0.5 && share < 1.01) {
			t.Errorf("shrinkage of coefficient %d is %g", k, share)
		}
	}
	// The slope's spread is in the units of slopes.
	scaled, original := fit.Draws(dpreg.Scaled), fit.Draws(dpreg.Original)
	f := fit.Design.Frame()
	i := scaled.Index("spread[1]")
	must.Near(t, "spread of the slope", original.Chains[0][i], scaled.Chains[0][i]*f.Half[1]/f.Half[0], 1e-9*original.Chains[0][i])
	k := scaled.Index("sigma_at[2]")
	must.Near(t, "sigma of the second", original.Chains[0][k], scaled.Chains[0][k]*f.Half[1], 1e-9*original.Chains[0][k])
	j := scaled.Index("theta_at[2,1]")
	must.Near(t, "slope of the second", original.Chains[0][j], scaled.Chains[0][j]*f.Half[1]/f.Half[0], 1e-9*math.Abs(original.Chains[0][j]))
}

func TestJointlyRefuses(t *testing.T) {
	e := open(t, "cirrhosis", "cirrhosis ~ wine", nil)
	other := open(t, "cirrhosis", "cirrhosis ~ liquor", nil)
	custodians := []dpreg.Custodian{{Name: "a.json", Release: e.written(1)}, {Name: "b.json", Release: other.written(1)}}
	must.Fail(t, must.Err(dpreg.Infer(context.Background(), custodians, dpreg.Options{})), "a.json and b.json")
	custodians[1].Release = e.written(2)
	for want, o := range map[string]dpreg.Options{
		`pooling "some"`:    {Pooling: "some"},
		`covariates "both"`: {Covariates: "both"},
		"mcmc-exact":        {Method: "gibbs-ss-prior"},
	} {
		must.Fail(t, must.Err(dpreg.Infer(context.Background(), custodians, o)), want)
	}
	few := *custodians[1].Release
	few.N = 2
	custodians[1].Release = &few
	must.Fail(t, must.Err(dpreg.Infer(context.Background(), custodians, dpreg.Options{Method: "mcmc-exact"})), "b.json: mcmc-exact: 2 columns need")
}

// TestJointlyOtherLevels: where a factor has other levels at one custodian, the error says
// so, whatever dummies there are more, and its way out is one.
func TestJointlyOtherLevels(t *testing.T) {
	of := func(levels string) *release.Release {
		number := schema.Column{Name: "x", Upper: 1}
		d := &schema.Design{Response: schema.Column{Name: "y", Upper: 1}, Intercept: true, Covariates: []schema.Column{number},
			Factors: []schema.Factor{{Name: "sex", Levels: strings.Split(levels, "")}}}
		for _, level := range d.Factors[0].Levels[1:] {
			d.Covariates = append(d.Covariates, schema.Column{Name: "sex" + level, Upper: 1, Factor: "sex", Level: level})
		}
		rows := slices.Repeat([][]float64{make([]float64, len(d.Columns()))}, 50)
		return released(t, d, rows...)
	}
	for _, levels := range []string{"mfx", "fm", "mx"} {
		custodians := []dpreg.Custodian{{Name: "a.json", Release: of("mf")}, {Name: "b.json", Release: of(levels)}}
		_, _, err := dpreg.Join(custodians)
		if err == nil || !strings.Contains(err.Error(), "a.json and b.json") || !strings.Contains(err.Error(), `a --formula without "sex"`) {
			t.Errorf("levels %q: %v", levels, err)
		}
		for j := range custodians {
			custodians[j].Release = must.Get(custodians[j].Release.Select("y ~ x"))(t)
		}
		if _, _, err := dpreg.Join(custodians); err != nil {
			t.Errorf("without the factor: %v", err)
		}
	}
}
