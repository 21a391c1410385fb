package calibration

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// fitter releases statistics and infers from them, by one arm of a design.
type fitter struct {
	arm     Arm
	columns *schema.Design
	prior   *model.Prior // nil: the one that Infer takes by itself
	privacy release.Privacy
	tamper  func(*release.Release) // a fault planted by a test
}

// summing says what the arm infers from.
func (f *fitter) summing(clamp bool) summing {
	p := len(f.columns.Covariates)
	return summing{m: p + 1, clamp: clamp, moments: f.arm.Method == noisyMoments && p <= release.MaxMomentCovariates}
}

// fit releases the sums with simulated noise, unless the method is non-private, and
// infers.
func (f *fitter) fit(ctx context.Context, s *summed, noise *mechanisms.Entropy, sampler *rand.Rand) (*dpreg.Fit, error) {
	o := f.options(sampler.Uint64())
	if f.arm.Method == NonPrivate {
		return dpreg.NonPrivate(ctx, s.statistics, f.columns, o)
	}
	r, err := f.release(ctx, s, noise)
	if err != nil {
		return nil, err
	}
	if f.tamper != nil {
		f.tamper(r)
	}
	return dpreg.Infer(ctx, dpreg.One(r), o)
}

// rehearsalEpsilon leaves so little noise that no release is refused for it.
const rehearsalEpsilon = 1e6

// rehearse returns what inference refuses of the arm before it draws anything, such as
// fewer rows than it needs.
func (f *fitter) rehearse(n int64, seed uint64) error {
	shape, rng := shapeOf(f.columns), mcmc.Stream(seed, 0)
	rows, err := simulate(f.prior, shape, NormalX, rng)
	if err != nil {
		return err
	}
	sums, err := f.summing(true).sum(rows.next, n)
	if err != nil || f.arm.Method == NonPrivate {
		return err
	}
	r, err := f.release(context.Background(), sums, mechanisms.Simulated(rng))
	if err != nil {
		return err
	}
	return dpreg.Can([]dpreg.Custodian{{Release: r}}, f.options(0))
}

// options are those of the arm, with chains from a seed.
func (f *fitter) options(seed uint64) dpreg.Options {
	return dpreg.Options{Method: f.arm.Method, Kernel: f.arm.Kernel, ModelClamping: f.arm.ModelClamping, Prior: f.prior, Plan: f.arm.plan(seed)}
}

func (f *fitter) release(ctx context.Context, s *summed, e *mechanisms.Entropy) (*release.Release, error) {
	privacy, kind := f.privacy, release.Laplace
	if privacy.Delta > 0 {
		kind = ssp.Auto
	}
	if f.arm.Method == noisyMoments {
		if s.moments == nil {
			return nil, fmt.Errorf("%d covariates: releases with moments have at most %d", len(f.columns.Covariates), release.MaxMomentCovariates)
		}
		return ssp.PublishMoments(ctx, s.statistics, s.moments, f.columns, privacy, kind, e)
	}
	sensitivity := ssp.Exact
	if f.arm.Sensitivity == PaperSensitivity {
		sensitivity = ssp.Paper
	}
	return ssp.Publish(ctx, s.statistics, f.columns, privacy, kind, sensitivity, e)
}

// reference draws (θ, σ²) from the posterior given the exact statistics.
func (f *fitter) reference(ctx context.Context, s *ssp.Statistics, rng *rand.Rand) (*posterior.Draws, error) {
	o := dpreg.Options{Prior: f.prior, Plan: mcmc.Plan{Chains: 1, Draws: Ranked, Seed: rng.Uint64(), Workers: 1}}
	fit, err := dpreg.NonPrivate(ctx, s, f.columns, o)
	if err != nil {
		return nil, err
	}
	return regressionDraws(fit), nil
}

// regressionDraws are those of (θ, σ²), in scaled units.
func regressionDraws(fit *dpreg.Fit) *posterior.Draws {
	return fit.Draws(dpreg.Scaled).Map(shapeOf(fit.Design).RegressionNames(), func(dst, src []float64) { copy(dst, src) })
}

// capped tells whether a run by ESS ended at its limit without that ESS.
func (f *fitter) capped(fit *dpreg.Fit) bool {
	limit := f.arm.MaxDraws
	if limit == 0 {
		limit = mcmc.DefaultMaxDraws
	}
	draws := fit.Draws(dpreg.Scaled)
	if f.arm.ESS == 0 || draws.NumDraws() < limit {
		return false
	}
	ess, _ := draws.MinESS(1)
	return ess < f.arm.ESS
}
