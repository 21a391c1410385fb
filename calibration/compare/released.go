package compare

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// noisyMoments is the method whose releases hold moments of the covariates.
const noisyMoments = "gibbs-ss-noisy"

// released is a method that infers from a release, or the posterior without privacy.
type released struct {
	name   string
	budget release.Privacy
}

const (
	chains = 2
	warmup = 1000
)

func (m released) run() string {
	return fmt.Sprintf("%d x %d, ESS %d", chains, warmup, calibration.DefaultESS)
}

func (m released) ready() error { return nil }

func (m released) fit(ctx context.Context, e *example, noise *mechanisms.Entropy, rng *rand.Rand) (*fitted, error) {
	o := dpreg.Options{Method: m.name, Prior: e.prior}
	o.Plan = mcmc.Plan{Chains: chains, Warmup: warmup, ESS: calibration.DefaultESS, Seed: rng.Uint64(), Workers: 1}
	if m.name == calibration.NonPrivate {
		fit, err := dpreg.NonPrivate(ctx, e.statistics, e.columns, o)
		if err != nil {
			return nil, err
		}
		return e.fitted(fit, 0), nil
	}
	r, err := m.release(ctx, e, noise)
	if err != nil {
		return nil, err
	}
	fit, err := dpreg.Infer(ctx, dpreg.One(r), o)
	if err != nil {
		return nil, err
	}
	return e.fitted(fit, r.Privacy.Epsilon), nil
}

// release has Laplace or Gaussian noise, whichever is smaller.
func (m released) release(ctx context.Context, e *example, noise *mechanisms.Entropy) (*release.Release, error) {
	kind := release.Laplace
	if m.budget.Delta > 0 {
		kind = ssp.Auto
	}
	if m.name != noisyMoments {
		return ssp.Publish(ctx, e.statistics, e.columns, m.budget, kind, ssp.Exact, noise)
	}
	if e.shape.P > release.MaxMomentCovariates {
		return nil, fmt.Errorf("%d covariates: releases with moments have at most %d", e.shape.P, release.MaxMomentCovariates)
	}
	moments, err := e.moments()
	if err != nil {
		return nil, err
	}
	return ssp.PublishMoments(ctx, e.statistics, moments, e.columns, m.budget, kind, noise)
}

// fitted takes (θ, σ²) out of a fit.
func (e *example) fitted(fit *dpreg.Fit, epsilon float64) *fitted {
	all, q := fit.Draws(dpreg.Scaled), e.shape.Q()
	f := &fitted{epsilon: epsilon, draws: all.Map(e.shape.RegressionNames(), func(dst, src []float64) { copy(dst, src) })}
	f.theta = means(f.draws, q)
	if all.NumDraws() >= mcmc.DefaultMaxDraws {
		ess, _ := all.MinESS(1)
		f.capped = ess < calibration.DefaultESS
	}
	return f
}
