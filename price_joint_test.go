package dpreg_test

import (
	"context"
	"math"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/whatif"
)

// TestPriceJointly: of several releases with one law of the covariates the price is their
// posterior's sd over that of exact statistics of all rows, whatever the boxes and with a
// noisy number of rows. The relative standard error of an sd of 2000 draws is 1/√2000 at an
// ESS of 1000; five of them, √2 for two sds, and 3 % for nμ_t in place of s. Nothing else
// of several has a price.
func TestPriceJointly(t *testing.T) {
	testsize.Full(t, "TestPriceOfPrivacy has one release")
	custodians := publish(t, hospital{mean: 0, slope: 0.3}, hospital{mean: 0, slope: 0.3}, hospital{mean: 0, slope: 0.3})
	plan := mcmc.Plan{Chains: 2, Warmup: 500, Draws: 1000, Seed: 1}
	for _, o := range []dpreg.Options{{Covariates: dpreg.SharedCovariates}, {}, {Covariates: dpreg.SharedCovariates, Pooling: dpreg.PartialPooling}} {
		if o.Plan = brief(1); o.Covariates == dpreg.SharedCovariates && o.Pooling == "" {
			o.Plan = plan
		}
		fit := must.Get(dpreg.Infer(context.Background(), custodians, o))(t)
		price := fit.PriceOfPrivacy()
		if o.Covariates != dpreg.SharedCovariates || o.Pooling == dpreg.PartialPooling {
			if price != nil {
				t.Errorf("%+v: %v", o, price)
			}
			continue
		}
		// The slope's sd without noise is 0.2/(0.3 √6000).
		slope := parameter(t, fit.Draws(dpreg.Original), "theta[1]")
		_, sd := meanSD(slope)
		want := sd / (0.2 / 0.3 / math.Sqrt(6000))
		must.Near(t, "price", price[1]/want, 1, 5/math.Sqrt(1000)+0.03)
		if !(price[1] > 1.05) {
			t.Errorf("noise costs nothing: %v", price)
		}
	}
}

// TestWhatIfJointly: the fit of several releases is repeated with all of them.
func TestWhatIfJointly(t *testing.T) {
	testsize.Full(t, "package whatif has one release")
	custodians := publish(t, hospital{mean: 0, slope: 0.3}, hospital{mean: 0.2, slope: 0.3})
	fit := must.Get(dpreg.Infer(context.Background(), custodians, dpreg.Options{Plan: brief(1)}))(t)
	w := must.Get(whatif.Of(context.Background(), fit, whatif.Options{}))(t)
	if len(w.Variants) != 5 || w.Variants[4].Name != "one law of all covariates" {
		t.Errorf("%+v", w.Variants)
	}
	for _, v := range w.Variants[:4] {
		if e := v.Effects[1]; !(math.Abs(e.Shift) < 1) || e.Sign != 1 {
			t.Errorf("%s: %+v", v.Name, e)
		}
	}
}
