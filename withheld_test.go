package dpreg_test

import (
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/release"
)

// withheld is a release without an intercept and without Σy².
func withheld(t *testing.T, h string) *release.Release {
	t.Helper()
	r, err := release.Read(strings.NewReader(strings.ReplaceAll(`{"format":"dpreg-release/1",
		"schema":{"response":{"name":"y","lower":-H,"upper":H},"covariates":[{"name":"u","lower":-1,"upper":1},{"name":"v","lower":-1,"upper":1}],"intercept":false},
		"n":200,"noise":{"kind":"gaussian","scale":3},
		"statistics":{"sum_x":[1,5],"sum_xx":[[60,10],[10,50]],"sum_y":3,"sum_xy":[24,-8],"sum_yy":null},"withheld":["yy"]}`, "H", h)))
	must(t, err)
	return r
}

// Auto takes the method that does without Σy², all others but its companion say
// which these are, and a sub-model without the response is for any.
func TestInferWithheld(t *testing.T) {
	plan := mcmc.Plan{Chains: 2, Warmup: 300, Draws: 300, Seed: 1}
	one, two := withheld(t, "1"), withheld(t, "2")
	fit, err := dpreg.Infer(t.Context(), dpreg.One(one), dpreg.Options{Plan: plan})
	must(t, err)
	if fit.Method != "normalx" || !strings.Contains(fit.Why, "withheld") || fit.PriceOfPrivacy() != nil {
		t.Errorf("auto: %s, %q", fit.Method, fit.Why)
	}
	for _, m := range dpreg.Methods() {
		_, err := dpreg.Infer(t.Context(), dpreg.One(one), dpreg.Options{Method: m.Name(), Plan: plan})
		switch m.Name() {
		case "normalx", "fixeds":
			must(t, err)
		case "gibbs-ss-noisy": // asks for moments first
		default:
			if err == nil || !strings.Contains(err.Error(), "normalx and fixeds") {
				t.Errorf("%s: %v", m.Name(), err)
			}
		}
	}
	sub, err := one.Select("u ~ v - 1")
	must(t, err)
	if fit, err = dpreg.Infer(t.Context(), dpreg.One(sub), dpreg.Options{Plan: plan}); err != nil || fit.Method != "mcmc-exact" {
		t.Errorf("a sub-model without y: %v", err)
	}
	custodians := []dpreg.Custodian{{Name: "a", Release: one}, {Name: "b", Release: two}}
	for _, method := range []string{"auto", "fixeds"} {
		fit, err = dpreg.Infer(t.Context(), custodians, dpreg.Options{Method: method, Plan: plan})
		must(t, err)
		if names := fit.Draws(dpreg.Original).Names; len(names) != 4 || names[0] != "theta[1]" {
			t.Errorf("%s: parameters %v", method, names)
		}
	}
	two.Noise.Kind = release.Laplace
	if _, err := dpreg.Infer(t.Context(), custodians, dpreg.Options{Plan: plan}); err == nil || !strings.HasPrefix(err.Error(), "b: normalx: it is for Gaussian noise") {
		t.Errorf("Laplace noise: %v", err)
	}
}
