package dpreg_test

import (
	"context"
	"math"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
)

// Without noise to speak of nothing is paid; with noise that hides the data
// altogether the posterior is the prior, whose sd is far above that of 1000 rows.
// Of the sd of 2000 draws at ESS ≥ 1000 (kernel exact, little noise) the relative
// standard error is 1/√2000; five of them and 3 % for nμ_t in place of s.
func TestPriceOfPrivacy(t *testing.T) {
	e := open(t, "pums", "income ~ age + educ", nil)
	price := func(scale float64, method string) []float64 {
		fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(e.written(scale)), dpreg.Options{
			Method: method, Plan: mcmc.Plan{Chains: 2, Warmup: 400, Draws: 1000, Seed: 1}}))(t)
		return fit.PriceOfPrivacy()
	}
	for _, v := range price(1e-3, "") {
		must.Near(t, "price without noise", v, 1, 5/math.Sqrt(2000)+0.03)
	}
	for k, v := range price(1e4, "") {
		if v < 3 {
			t.Errorf("price of theta[%d] is %v where noise hides everything", k, v)
		}
	}
	if got := price(1, "naive"); got != nil {
		t.Errorf("naive has a price: %v", got)
	}
}
