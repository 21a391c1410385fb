package dpreg_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

func TestInferRefuses(t *testing.T) {
	e := open(t, "cirrhosis", "", nil)
	r := e.written(1)
	for want, o := range map[string]dpreg.Options{
		"gibbs-ss-noisy, naive": {Method: "gibs"},
		"needs the rows":        {Method: "non-private"},
		"no choice of kernel":   {Method: "naive", Kernel: "plain"},
		`unknown kernel "fast"`: {Kernel: "fast"},
		"prior":                 {Prior: model.DefaultPrior(model.Shape{P: 2})},
		"exclude each other":    {Plan: mcmc.Plan{Chains: 1, Warmup: 200, Draws: 10, ESS: 10}},
	} {
		must.Fail(t, must.Err(dpreg.Infer(context.Background(), dpreg.One(r), o)), want)
	}
	r.Noise.Scale = -1
	if _, err := dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{}); err == nil {
		t.Error("an invalid release is accepted")
	}
}

func TestInferStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e := open(t, "cirrhosis", "", nil)
	if _, err := dpreg.Infer(ctx, dpreg.One(e.written(1)), dpreg.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Infer: %v", err)
	}
	if _, err := dpreg.NonPrivate(ctx, e.statistics, e.design, dpreg.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("NonPrivate: %v", err)
	}
}

// Draws depend on the seed and not on the number of workers.
func TestInferRepeats(t *testing.T) {
	e := open(t, "cirrhosis", "cirrhosis ~ wine", nil)
	run := func(seed uint64, workers int) []float64 {
		plan := brief(seed)
		plan.Workers = workers
		fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(e.written(1)), dpreg.Options{Plan: plan}))(t)
		return slices.Concat(fit.Draws(dpreg.Original).Chains...)
	}
	first := run(5, 1)
	if !slices.Equal(first, run(5, 2)) {
		t.Error("another number of workers, other draws")
	}
	if slices.Equal(first, run(6, 1)) {
		t.Error("another seed, the same draws")
	}
}

func TestWarningsOfTheRelease(t *testing.T) {
	e := open(t, "cirrhosis", "", nil)
	r := e.written(1)
	fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Method: "naive", Plan: brief(1)}))(t)
	warnings := fit.Summary(dpreg.Original, 0.95).Warnings
	if len(r.Warnings()) == 0 || !slices.Contains(warnings, r.Warnings()[0]) {
		t.Errorf("the release's warnings are not among the fit's: %v", warnings)
	}
}

// The names of Methods are those that Infer takes.
func TestMethods(t *testing.T) {
	methods := dpreg.Methods()
	e := open(t, "cirrhosis", "cirrhosis ~ wine", nil)
	for _, m := range methods {
		o := dpreg.Options{Method: m.Name(), Plan: brief(1)}
		if m.Name() == "gibbs-ss-prior" { // the default prior states no law of x
			o.Prior = model.DefaultPrior(model.Shape{P: 1, Intercept: true})
			o.Prior.X = model.UniformX{}
		}
		fit, err := dpreg.Infer(context.Background(), dpreg.One(e.written(1)), o)
		if m.Name() == "gibbs-ss-noisy" { // a release without moments
			if err == nil || !strings.Contains(err.Error(), "--with-moments") {
				t.Errorf("%s: %v", m.Name(), err)
			}
			continue
		}
		must.Do(t, err)
		if fit.Method != m.Name() {
			t.Errorf("asked for %s, got %s", m.Name(), fit.Method)
		}
	}
}

// A release of add-remove neighbours has a noisy count, which is inferred with
// the rest and shown.
func TestInferCount(t *testing.T) {
	r := open(t, "pums", "income ~ educ", nil).written(5)
	r.N, r.NNoise = 1003, 6
	r.Privacy = &release.Privacy{Epsilon: 2, Neighbours: release.AddRemove}
	fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 2, Warmup: 500, Draws: 1000, Seed: 1}}))(t)
	s := fit.Summary(dpreg.Original, 0.95)
	n := s.Parameters[len(s.Parameters)-1]
	if n.Name != "n" || n.Label != "n" || n.Contraction != nil {
		t.Fatalf("the last parameter is %+v, not n", n)
	}
	// The noise on n has sd 8.5; the sums, with noise of the same size on totals
	// near n, say little more. The mean lies within four sds of the count.
	if math.Abs(n.Mean-1003) > 35 || n.SD < 2 || n.SD > 10 {
		t.Errorf("n is %g (sd %g)", n.Mean, n.SD)
	}
	for i, price := range fit.PriceOfPrivacy() {
		if !(price >= 1) {
			t.Errorf("price of theta[%d] is %g", i, price)
		}
	}
}

// TestOptionsOneByOne: what a plan leaves out is the default's, whatever else it states.
func TestOptionsOneByOne(t *testing.T) {
	r := open(t, "cirrhosis", "cirrhosis ~ wine", nil).written(1)
	d := dpreg.DefaultPlan()
	for _, c := range []struct{ given, want mcmc.Plan }{
		{mcmc.Plan{}, d},
		{mcmc.Plan{Seed: 3}, mcmc.Plan{Chains: d.Chains, Warmup: d.Warmup, ESS: d.ESS, Seed: 3}},
		{mcmc.Plan{Chains: 2}, mcmc.Plan{Chains: 2, Warmup: d.Warmup, ESS: d.ESS}},
		{mcmc.Plan{Warmup: 200}, mcmc.Plan{Chains: d.Chains, Warmup: 200, ESS: d.ESS}},
		{mcmc.Plan{Draws: 2000}, mcmc.Plan{Chains: d.Chains, Warmup: d.Warmup, Draws: 2000}},
		{mcmc.Plan{ESS: 200}, mcmc.Plan{Chains: d.Chains, Warmup: d.Warmup, ESS: 200}},
	} {
		fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Method: "naive", Plan: c.given}))(t)
		if got := fit.Plan; got.Chains != c.want.Chains || got.Warmup != c.want.Warmup || got.Draws != c.want.Draws || got.ESS != c.want.ESS || got.Seed != c.want.Seed {
			t.Errorf("%+v: %+v, want %+v", c.given, got, c.want)
		}
	}
}
