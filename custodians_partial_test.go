package dpreg_test

import (
	"context"
	"math"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/predict"
)

// pooledPartially draws from the posterior of partially pooled releases.
func pooledPartially(t *testing.T, custodians []dpreg.Custodian, o dpreg.Options) *posterior.Draws {
	t.Helper()
	o.Pooling = dpreg.PartialPooling
	fit := must.Get(dpreg.Infer(context.Background(), custodians, o))(t)
	return fit.Draws(dpreg.Scaled)
}

// TestPartialMethodsAgree: two engines have one posterior of partially pooled releases.
// Each of the 56 bounds has a false-alarm rate of 4e-8. TestMethodsAgreeOnSeveral of package exact has more draws.
func TestPartialMethodsAgree(t *testing.T) {
	testsize.Full(t, "TestJointlyPartial infers, and TestMethodsAgreeOnSeveral of package exact has the engines")
	custodians := open(t, "pums", "income ~ educ", nil).parts(t, []int{40, 25, 60}, 2)
	for _, covariates := range []string{dpreg.SeparateCovariates, dpreg.SharedCovariates} {
		o := dpreg.Options{Method: "mcmc-exact", Covariates: covariates, Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 300, Seed: 1}}
		want := pooledPartially(t, custodians, o)
		o.Method, o.Plan.Draws = "gibbs-ss-update", 2*o.Plan.Draws
		scores(t, pooledPartially(t, custodians, o), want, func(name string, zMean, zSD, _, _ float64) {
			if !(math.Abs(zMean) < 5.5 && math.Abs(zSD) < 5.5) {
				t.Errorf("covariates %s, %s: means %.1f Monte Carlo errors apart, sds %.1f", covariates, name, zMean, zSD)
			}
		})
	}
}

// TestPartialNoiseless: where noise is negligible beside sampling, naive and both kernels of
// gibbs-ss-update have one posterior. Each of the 52 bounds has a false-alarm rate of 4e-8,
// and slack for the noise. (mcmc-exact has it too, in minutes.)
func TestPartialNoiseless(t *testing.T) {
	e := open(t, "pums", "income ~ educ", nil)
	e.keep(t, 800)
	custodians := e.parts(t, []int{100, 300, 400}, 0.01)
	o := dpreg.Options{Method: "naive", Plan: mcmc.Plan{Chains: 2, Warmup: 500, Draws: testsize.Of(800, 5000), Seed: 1}}
	want := pooledPartially(t, custodians, o)
	for _, other := range []dpreg.Options{{}, {Kernel: "plain"}} {
		o.Method, o.Kernel, o.Plan.Draws = "gibbs-ss-update", other.Kernel, testsize.Of(600, 3000)
		scores(t, pooledPartially(t, custodians, o), want, func(name string, zMean, zSD, dMean, ratio float64) {
			if !(math.Abs(zMean) < 5.5 || math.Abs(dMean) < 0.02) || !(math.Abs(zSD) < 5.5 || math.Abs(ratio-1) < 0.02) {
				t.Errorf("kernel %q, %s: means %.1f errors from naive's, sds %.1f", o.Kernel, name, zMean, zSD)
			}
		})
	}
}

// TestPredictJointly: a fit of several releases predicts, and in both units the draws that
// it would save predict the same.
func TestPredictJointly(t *testing.T) {
	e := open(t, "pums", "income ~ educ", nil)
	custodians := e.parts(t, []int{300, 300, 200}, 2)
	for _, pooling := range []string{dpreg.CompletePooling, dpreg.PartialPooling} {
		fit := must.Get(dpreg.Infer(context.Background(), custodians, dpreg.Options{Pooling: pooling, Plan: brief(3)}))(t)
		numbers := []int{0}
		if pooling == dpreg.PartialPooling {
			numbers = []int{0, 1, 2, 3}
		}
		for _, o := range numbers {
			o := predict.Options{Custodian: o}
			of := must.Get(predict.Of(fit, o))(t)
			want := must.Get(of.Predict([]float64{13}))(t)
			for _, u := range []dpreg.Units{dpreg.Original, dpreg.Scaled} {
				p := must.Get(predict.New(fit.StanDraws(u), fit.Design, u, o))(t)
				got := must.Get(p.Predict([]float64{13}))(t)
				must.Near(t, "fitted", got.Fitted, want.Fitted, 1e-9*want.SD)
				must.Near(t, "sd", got.SD, want.SD, 1e-9*want.SD)
				must.Near(t, "upper", got.Upper, want.Upper, 1e-6*want.SD)
			}
		}
	}
}
