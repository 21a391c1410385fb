// Package dpreg is Bayesian linear regression under differential privacy.
//
// A custodian holds sensitive rows, and publishes one release: the sums of
// x, y, xxᵀ, xy and y² over rows clamped to public bounds, with noise that
// makes them ε-differentially private (custody.Publish). An analyst holds only the
// release, and infers from it (Infer): the posterior accounts for the noise,
// and whatever is computed from a release costs no further ε.
//
//	y ~ N(θᵀ(1, x), σ²)    x ~ N(μ_x, T)
//
// under a prior that is conjugate or a scale mixture of conjugate ones; see model.Prior.
// The default is weakly informative: model.Family.DefaultPrior.
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
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

const nonPrivate = "non-private"

// NonPrivate draws from the posterior given the exact statistics s of the
// design's columns (custody.Exact), for studies: the yardstick of what noise costs. Its result
// is not private. The draws are those of model.Given, which needs no warm-up; a plan's is
// not run. o.Method is empty or "non-private", o.Kernel empty.
//
// Errors: options of another method, a design that is not valid or has not
// s.Dim() columns, statistics of no row, and those of Infer.
func NonPrivate(ctx context.Context, s *ssp.Statistics, d *schema.Design, o Options) (*Fit, error) {
	if o.Method != "" && o.Method != nonPrivate || o.Kernel != "" {
		return nil, fmt.Errorf("method %s: method %q, kernel %q cannot be combined with it", nonPrivate, o.Method, o.Kernel)
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	f := &Fit{Design: d, Method: nonPrivate, N: s.N, Plan: o.plan()}
	f.Plan.Warmup = 0
	if s.Dim() != f.shape().M() {
		return nil, fmt.Errorf("the sums are over %d columns, the design has %d", s.Dim(), f.shape().M())
	}
	if s.N == 0 {
		return nil, errors.New("there are no rows")
	}
	var err error
	sums := &release.Release{Schema: *d, N: s.N, Statistics: release.StatisticsFromVector(s.Dim(), s.Vector())}
	if f.Prior, err = o.prior(d, sums); err != nil {
		return nil, err
	}
	vector, prior := s.Vector(), f.Prior.OfRows(float64(s.N))
	start := func(int, *rand.Rand) (mcmc.Kernel[struct{}], error) {
		return model.NewGiven(nonPrivate, f.shape(), prior, true, vector, float64(s.N)), nil
	}
	keep := func(struct{}, []float64) {}
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: f.shape().Names()}, start, keep, f.Plan)
	if err != nil {
		return nil, err
	}
	draws.Warnings = append(draws.Warnings, nonPrivate+" uses the rows without noise: nothing here is private, and none of it may be published as if it were")
	return f.with(draws)
}
