package dpreg

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/release"
)

func weighed(t *testing.T, file string, o Options) (*Fit, *WhatIf) {
	t.Helper()
	r, err := release.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	o.Plan = mcmc.Plan{Chains: 4, Warmup: 300, Draws: 500, Seed: 3}
	f, err := Infer(context.Background(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.WhatIf(context.Background(), WhatIfOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return f, w
}

// The strong release of docs/priors.md stands, the weak one moves; twice the same
// question has the same answer.
func TestWhatIf(t *testing.T) {
	f, strong := weighed(t, "pums-eps1.release.json", Options{})
	if strong.Moved() {
		t.Errorf("a strong release moves: %+v", strong.Variants)
	}
	if strong.Units != Original || strong.Level != 0.95 || len(strong.Variants) < 6 {
		t.Errorf("%+v", strong)
	}
	if _, weak := weighed(t, "pums-weak.release.json", Options{}); !weak.Moved() {
		t.Errorf("a weak release stands: %+v", weak.Variants)
	}
	calls := 0
	again, err := f.WhatIf(context.Background(), WhatIfOptions{Progress: func(done, total int) {
		if calls++; done != calls || total != len(strong.Variants) {
			t.Errorf("call %d: %d of %d", calls, done, total)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range again.Variants {
		if !slices.Equal(v.Effects, strong.Variants[i].Effects) {
			t.Errorf("%s: %+v, and then %+v", v.Name, strong.Variants[i].Effects, v.Effects)
		}
	}
}

// One thing changes at a time, by what its name says.
func TestQuestions(t *testing.T) {
	f, w := weighed(t, "pums-eps1.release.json", Options{})
	variance := func(d *conjugate.NIG) float64 {
		v := make([]float64, d.Dim())
		d.VarTheta(v)
		return v[1]
	}
	base := f.Prior
	for i, q := range f.questions() {
		var theta, sigma2, covariates float64 = 1, 1, 1
		by := 2.0
		if strings.HasSuffix(q.name, "halved") {
			by = 0.5
		}
		switch {
		case strings.HasPrefix(q.name, "coefficients"):
			theta = by * by
		case strings.HasPrefix(q.name, "sigma2"):
			sigma2 = by
		case strings.HasPrefix(q.name, "covariates' prior"):
			covariates = by
		}
		for _, c := range []struct{ got, want float64 }{
			{variance(q.prior.Theta) / variance(base.Theta), theta},
			{q.prior.Theta.Scale / base.Theta.Scale, sigma2},
			{q.prior.Covariates.Scale[0] / base.Covariates.Scale[0], covariates},
		} {
			if math.Abs(c.got-c.want) > 1e-12 {
				t.Errorf("%s: %v instead of %v", q.name, c.got, c.want)
			}
		}
		if w.Variants[i].Name != q.name {
			t.Errorf("variant %d is %q and not %q", i, w.Variants[i].Name, q.name)
		}
	}
	if last := f.questions()[6]; last.method != fixedX || last.prior.X == nil || base.X != nil {
		t.Errorf("%+v", last)
	}
	fixed := Options{Method: fixedX, Prior: f.questions()[6].prior}
	if f, w := weighed(t, "pums-eps1.release.json", fixed); len(w.Variants) != 5 || f.questions()[4].method != DefaultMethod {
		t.Errorf("%+v", w.Variants)
	}
	if f, w := weighed(t, "pums-eps1.release.json", Options{Method: "naive"}); len(f.questions()) != 4 || len(w.Variants) != 4 {
		t.Error("naive has a prior of the covariates")
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
		if c.e.Moved() != c.want {
			t.Errorf("%+v: %v", c.e, c.e.Moved())
		}
	}
}

func TestWhatIfJSON(t *testing.T) {
	w := &WhatIf{Units: Scaled, Level: 0.9, Variants: []Variant{{Name: "a", Method: "m", Reason: "few", Effects: []Effect{{Name: "theta[0]", Shift: math.NaN()}}}}}
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"units":"scaled","level":0.9,"moved":true,"variants":[{"name":"a","method":"m","converged":false,"reason":"few",` +
		`"effects":[{"name":"theta[0]","label":"","shift":null,"shift_mcse":0,"width_ratio":0,"sign":0,"sign_changed":false,"moved":true}]}]}`
	if string(text) != want {
		t.Errorf("%s", text)
	}
}

func TestWhatIfRefuses(t *testing.T) {
	if _, err := (&Fit{}).WhatIf(context.Background(), WhatIfOptions{}); err == nil {
		t.Error("a fit without a release is accepted")
	}
	f, _ := weighed(t, "pums-eps1.release.json", Options{Method: "naive"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.WhatIf(ctx, WhatIfOptions{}); err == nil {
		t.Error("a context that is done is not heeded")
	}
}
