package dpreg

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// drawn is a fit whose draws are independent, normal for θ, but for chain 0,
// which is shifted by so many sds.
func drawn(t *testing.T, draws int, shift float64) *Fit {
	t.Helper()
	d := &schema.Design{
		Response:   schema.Column{Name: "y", Lower: 3, Upper: 7},
		Covariates: []schema.Column{{Name: "x", Lower: 10, Upper: 30}}, Intercept: true,
	}
	shape := model.Shape{P: 1, Intercept: true}
	f := &Fit{Design: d, Method: "naive", Prior: model.DefaultPrior(shape), Plan: mcmc.Plan{ESS: 1000}}
	rng := rand.New(rand.NewPCG(7, 7))
	out := &posterior.Draws{Names: shape.RegressionNames()}
	for c := range 4 {
		at := 0.0
		if c == 0 {
			at = shift
		}
		chain := make([]float64, 0, 3*draws)
		for range draws {
			chain = append(chain, rng.NormFloat64(), at+rng.NormFloat64(), math.Exp(rng.NormFloat64()))
		}
		out.Chains = append(out.Chains, chain)
	}
	return must.Get(f.with(out))(t)
}

func TestConverged(t *testing.T) {
	for _, c := range []struct {
		draws int // of each of four chains
		shift float64
		fixed bool   // the plan sets the number of draws
		want  string // of the reason; empty where converged
	}{
		{1000, 0, false, ""},
		{1000, 0.5, false, "R-hat of x is"},
		{80, 0, false, "effective sample size of"},
		{80, 0, true, ""},
		{80, 5, true, "above 1.02 (as ESS is below 1000 and R-hat less precise; else 1.01, Vehtari et al. 2021)"},
		{4000, 0.3, true, "above 1.01 (Vehtari et al. 2021): the chains do not agree; leave out a column"},
		{80, 5, false, "more warm-up and draws; the effective sample size of"}, // all that failed
		{2, 0, true, "does not exist"},
	} {
		f := drawn(t, c.draws, c.shift)
		if c.fixed {
			f.Plan = mcmc.Plan{Draws: c.draws}
		}
		ok, reason := f.Converged()
		if ok != (c.want == "") || !strings.Contains(reason, c.want) {
			t.Errorf("%+v: %v, %q", c, ok, reason)
		}
	}
}

// A run by ESS goes on where its draws so far would not count as converged, in either
// units, and more of them can help: TestPrintedExamples has one.
func TestUntilMixed(t *testing.T) {
	for _, c := range []struct {
		draws int
		shift float64
		mixed bool
	}{{1000, 0, true}, {1000, 0.5, false}, {80, 0, false}, {2, 0, true}} {
		f := drawn(t, c.draws, c.shift)
		if mixed := f.untilMixed().Mixed(f.draws); mixed != c.mixed {
			t.Errorf("%+v: mixed %v", c, mixed)
		}
		for _, plan := range []mcmc.Plan{{Draws: c.draws}, {ESS: leastESS - 1}} {
			if f.Plan = plan; f.untilMixed().Mixed != nil {
				t.Errorf("%+v is asked whether draws have mixed", plan)
			}
		}
	}
}

// The slope is x's, so that the intercept in the data's units, 20 away, shows
// its chains apart, and the one in scaled units does not.
func TestConvergedLooksAtTheInterceptOfBothUnits(t *testing.T) {
	f := drawn(t, 1000, 0.5)
	if r := posterior.Of(f.Draws(Scaled).Column(0)).RHat(); r > 1.01 {
		t.Errorf("scaled: R-hat %v", r)
	}
	if r := posterior.Of(f.Draws(Original).Column(0)).RHat(); r < 1.01 {
		t.Errorf("original: R-hat %v", r)
	}
}
