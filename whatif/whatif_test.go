package whatif

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

func weighed(t *testing.T, file string, o dpreg.Options) (*dpreg.Fit, *Answers) {
	t.Helper()
	r := must.Get(release.ReadFile("../testdata/" + file))(t)
	o.Plan = mcmc.Plan{Chains: 2, Warmup: 300, Draws: testsize.Of(400, 1000), Seed: 3}
	f := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), o))(t)
	w := must.Get(Of(context.Background(), f, Options{}))(t)
	return f, w
}

// The strong release of docs/priors.md stands, the weak one moves; twice the same
// question has the same answer.
func TestWhatIf(t *testing.T) {
	testsize.Full(t, "TestQuestions asks the same")
	f, strong := weighed(t, "pums-eps1.release.json", dpreg.Options{})
	if strong.Moved {
		t.Errorf("a strong release moves: %+v", strong.Variants)
	}
	if strong.Units != dpreg.Original || strong.Level != 0.95 || len(strong.Variants) != 5 {
		t.Errorf("%+v", strong)
	}
	if _, weak := weighed(t, "pums-weak.release.json", dpreg.Options{}); !weak.Moved {
		t.Errorf("a weak release stands: %+v", weak.Variants)
	}
	calls := 0
	again := must.Get(Of(context.Background(), f, Options{Progress: func(done, total int) {
		if calls++; done != calls || total != len(strong.Variants) {
			t.Errorf("call %d: %d of %d", calls, done, total)
		}
	}}))(t)
	for i, v := range again.Variants {
		if !slices.Equal(v.Effects, strong.Variants[i].Effects) {
			t.Errorf("%s: %+v, and then %+v", v.Name, strong.Variants[i].Effects, v.Effects)
		}
	}
}

// One thing changes at a time, by what its name says, whatever kind of prior it is.
func TestQuestions(t *testing.T) {
	f, w := weighed(t, "pums-eps1.release.json", dpreg.Options{})
	shape := model.Shape{P: 2, Intercept: true}
	for name, prior := range map[string]*model.Prior{"default": model.DefaultPrior(shape), "shared spread": modeltest.SharedSpread(shape), "scaled by σ": modeltest.ScaledBySigma(shape)} {
		g := *f
		g.Prior = prior
		sds := func(p *model.Prior) []float64 { // of a slope, σ and T_11, at typical scales
			m, sd := model.NewMixture(p), make([]float64, 3)
			m.ThetaSD(sd, m.Theta.Scale)
			return []float64{sd[1], math.Sqrt(m.Theta.Scale), math.Sqrt(m.Covariates.Scale[0])}
		}
		base, wants := sds(prior), [][]float64{{1. / 3, 1, 1}, {3, 1, 1}, {1, 3, 1}, {1, 1, 3}}
		for i, want := range wants {
			q := questionsOf(&g)[i]
			for k, got := range sds(q.prior) {
				if math.Abs(got/base[k]-want[k]) > 1e-12 {
					t.Errorf("%s, %s: number %d times %v instead of %v", name, q.name, k, got/base[k], want[k])
				}
			}
			if i < 4 && w.Variants[i].Name != q.name {
				t.Errorf("variant %d is %q and not %q", i, w.Variants[i].Name, q.name)
			}
		}
	}
	last := questionsOf(f)[4]
	if last.method != (gibbs.Method{Moments: gibbs.Prior}).Name() || last.prior.X == nil || f.Prior.X != nil {
		t.Errorf("%+v", last)
	}
	if f, w := weighed(t, "pums-eps1.release.json", dpreg.Options{Method: (gibbs.Method{Moments: gibbs.Prior}).Name(), Prior: last.prior}); len(w.Variants) != 4 || questionsOf(f)[3].method != dpreg.DefaultMethod {
		t.Errorf("%+v", w.Variants)
	}
	if f, w := weighed(t, "pums-eps1.release.json", dpreg.Options{Method: "naive"}); len(questionsOf(f)) != 3 || len(w.Variants) != 3 {
		t.Error("naive has a prior of the covariates")
	}
	byLevel, r := *f, *f.Custodians[0].Release // of which no other method has a law
	r.Levels = &release.Levels{Factor: "f"}
	byLevel.Custodians = dpreg.One(&r)
	if all := questionsOf(&byLevel); len(all) != 4 {
		t.Errorf("by levels: %+v", all[4:])
	}
}

func TestMoved(t *testing.T) {
	for _, c := range []struct {
		e    Effect
		want bool
	}{
		{Effect{Shift: 0.49, Width: 1.24}, false},
		{Effect{Shift: -0.51, Width: 1}, true},
		{Effect{Shift: 0, Width: 1.26}, true},
		{Effect{Shift: 0, Width: 0.79}, true},
		{Effect{Shift: 0, Width: 0.81}, false},
		{Effect{Shift: 0, Width: 1, Changed: true}, true},
		{Effect{Shift: math.NaN(), Width: 1}, true},
	} {
		if c.e.moved() != c.want {
			t.Errorf("%+v: %v", c.e, c.e.moved())
		}
	}
}

func TestWhatIfJSON(t *testing.T) {
	w := &Answers{Units: dpreg.Scaled, Level: 0.9, Moved: true, Variants: []Variant{{Name: "a", Method: "m", Reason: "few", Effects: []Effect{{Name: "theta[0]", Shift: math.NaN(), Moved: true}}}}}
	text := must.Get(json.Marshal(w))(t)
	const want = `{"units":"scaled","level":0.9,"moved":true,"variants":[{"name":"a","method":"m","converged":false,"reason":"few",` +
		`"effects":[{"name":"theta[0]","label":"","shift":null,"shift_mcse":0,"width_ratio":0,"sign":0,"sign_changed":false,"moved":true}]}]}`
	if string(text) != want {
		t.Errorf("%s", text)
	}
}

func TestWhatIfRefuses(t *testing.T) {
	if _, err := Of(context.Background(), &dpreg.Fit{}, Options{}); err == nil {
		t.Error("a fit without a release is accepted")
	}
	f, _ := weighed(t, "pums-eps1.release.json", dpreg.Options{Method: "naive"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Of(ctx, f, Options{}); err == nil {
		t.Error("a context that is done is not heeded")
	}
}
