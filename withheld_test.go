package dpreg_test

import (
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/release"
)

// A release that withholds Σy² is refused by every method, one and among several, and a
// sub-model without the response is for any.
func TestInferWithheld(t *testing.T) {
	r := must.Get(release.Read(strings.NewReader(`{"format":"dpreg-release/1",
		"schema":{"response":{"name":"y","lower":-1,"upper":1},"covariates":[{"name":"u","lower":-1,"upper":1},{"name":"v","lower":-1,"upper":1}],"intercept":false},
		"n":200,"noise":{"kind":"gaussian","scale":3},
		"statistics":{"sum_x":[1,5],"sum_xx":[[60,10],[10,50]],"sum_y":3,"sum_xy":[24,-8],"sum_yy":null},"withheld":["yy"]}`)))(t)
	plan := mcmc.Plan{Chains: 2, Warmup: 300, Draws: 300, Seed: 1}
	names := []string{dpreg.Auto}
	for _, m := range dpreg.Methods() {
		names = append(names, m.Name())
	}
	for _, name := range names {
		_, err := dpreg.Infer(t.Context(), dpreg.One(r), dpreg.Options{Method: name, Plan: plan})
		if name == "gibbs-ss-noisy" { // asks for moments first
			continue
		}
		if err == nil || !strings.Contains(err.Error(), `squares of "y"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	custodians := []dpreg.Custodian{{Name: "a", Release: r}, {Name: "b", Release: r}}
	if _, err := dpreg.Infer(t.Context(), custodians, dpreg.Options{Plan: plan}); err == nil || !strings.HasPrefix(err.Error(), "a: this release withholds") {
		t.Errorf("two: %v", err)
	}
	sub := must.Get(r.Select("u ~ v - 1"))(t)
	if fit, err := dpreg.Infer(t.Context(), dpreg.One(sub), dpreg.Options{Plan: plan}); err != nil || fit.Method != "mcmc-exact" {
		t.Errorf("a sub-model without y: %v", err)
	}
}
