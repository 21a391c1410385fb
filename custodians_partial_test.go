package dpreg_test

import (
	"context"
	"math"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// TestPartialMethodsAgree: with coefficients of each custodian's own, mcmc-ind, which knows
// rows, and mcmc-exact, which knows the law of their sums, have one posterior. Each of the
// 48 bounds has a false-alarm rate of 4e-8.
func TestPartialMethodsAgree(t *testing.T) {
	custodians := open(t, "pums", "income ~ educ", nil).parts(t, []int{20, 12, 30}, 3)
	for _, covariates := range []string{dpreg.SeparateCovariates, dpreg.SharedCovariates} {
		draws := map[string]*posterior.Draws{}
		for method, kept := range map[string]int{"mcmc-exact": 4000, "mcmc-ind": 1500} {
			o := dpreg.Options{Method: method, Pooling: dpreg.PartialPooling, Covariates: covariates, Plan: mcmc.Plan{Chains: 2, Warmup: 600, Draws: kept, Seed: 1}}
			fit, err := dpreg.InferJointly(context.Background(), custodians, o)
			must(t, err)
			draws[method] = fit.Draws(dpreg.Scaled)
		}
		scores(t, draws["mcmc-ind"], draws["mcmc-exact"], func(name string, zMean, zSD, _, _ float64) {
			if name != "sigma2" && !(math.Abs(zMean) < 5.5 && math.Abs(zSD) < 5.5) {
				t.Errorf("covariates %s, %s: means %.1f Monte Carlo errors apart, sds %.1f", covariates, name, zMean, zSD)
			}
		})
	}
}
