// Package dpreg is Bayesian linear regression under differential privacy.
//
// A custodian holds sensitive rows, and publishes one release: the sums of
// x, y, xxᵀ, xy and y² over rows clamped to public bounds, with noise that
// makes them ε-differentially private (Publish). An analyst holds only the
// release, and infers from it (Infer): the posterior accounts for the noise,
// and whatever is computed from a release costs no further ε.
//
//	y ~ N(θᵀ(1, x), σ²)    x ~ N(μ_x, T)
//
// under a prior that is conjugate or a scale mixture of conjugate ones; see model.Prior.
// The default is weakly informative: model.DefaultPriorFor.
//
// Bernstein and Sheldon (2019), Differentially Private Bayesian Linear
// Regression, NeurIPS.
//
// Releases, and priors as package model has them, are in scaled units: each
// column's public bounds become [-1, 1]. A Fit gives its results in the data's
// units, or in those.
package dpreg

import (
	"context"
	"fmt"
	"iter"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// checkEvery is the number of rows between two looks at the context.
const checkEvery = 1 << 12

// Publish sums rows, which it reads once and in constant memory, and releases
// the sums with (ε, δ)-differential privacy: with Laplace noise where p.Delta is
// 0, else with the noise that ssp.Choose finds smaller. Each row has the m values
// of d.Columns(), in scaled units, as table.CSV yields them. The noise comes from
// the operating system; each call spends ε again.
//
// Errors: what rows yields (the first ends the sum), a row that is not of m
// numbers in [-1, 1], what ssp.Publish refuses, a context that is done. An error
// about a row says which one, and not what it holds.
func Publish(ctx context.Context, rows iter.Seq2[[]float64, error], d *schema.Design, p release.Privacy) (*release.Release, error) {
	s, err := Accumulate(ctx, rows, d)
	if err != nil {
		return nil, err
	}
	return ssp.Publish(ctx, s, d, p, ssp.Auto, ssp.Exact, mechanisms.OS())
}

// PublishMoments is Publish for a release that holds moments of the covariates as
// well, for the method gibbs-ss-noisy, of at most release.MaxMomentCovariates.
func PublishMoments(ctx context.Context, rows iter.Seq2[[]float64, error], d *schema.Design, p release.Privacy) (*release.Release, error) {
	s, x, err := AccumulateMoments(ctx, rows, d)
	if err != nil {
		return nil, err
	}
	return ssp.PublishMoments(ctx, s, x, d, p, ssp.Auto, mechanisms.OS())
}

// AccumulateMoments is Accumulate, and sums the moments of the covariates of degree
// 3 and 4 beside. It is an error if there are more than release.MaxMomentCovariates.
func AccumulateMoments(ctx context.Context, rows iter.Seq2[[]float64, error], d *schema.Design) (*ssp.Statistics, *ssp.Moments, error) {
	if err := d.Validate(); err != nil {
		return nil, nil, err
	}
	if p := len(d.Covariates); p > release.MaxMomentCovariates {
		return nil, nil, fmt.Errorf("%d covariates: moments are released of at most %d", p, release.MaxMomentCovariates)
	}
	x := ssp.NewMomentAccumulator(len(d.Covariates))
	s, err := accumulate(ctx, rows, d, x.Add)
	return s, x.Moments(), err
}

// Accumulate sums rows, as Publish does, exactly and without noise: the input
// of NonPrivate. What it returns is as sensitive as the rows. That there is none is not
// an error here, which would tell add-remove neighbours apart: ssp.Publish knows whose
// number of rows is public.
func Accumulate(ctx context.Context, rows iter.Seq2[[]float64, error], d *schema.Design) (*ssp.Statistics, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return accumulate(ctx, rows, d, func([]float64) error { return nil })
}

// accumulate gives each row that is summed to another one as well.
func accumulate(ctx context.Context, rows iter.Seq2[[]float64, error], d *schema.Design, also func(row []float64) error) (*ssp.Statistics, error) {
	a := ssp.NewAccumulator(len(d.Covariates) + 1)
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		if len(row) != a.Dim() {
			return nil, fmt.Errorf("row %d has %d values, the design has %d columns", a.N()+1, len(row), a.Dim())
		}
		if err := a.Add(row); err != nil {
			return nil, fmt.Errorf("row %d: %w", a.N()+1, err)
		}
		if err := also(row); err != nil {
			return nil, fmt.Errorf("row %d: %w", a.N(), err)
		}
		if a.N()%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return a.Statistics(), ctx.Err()
}
