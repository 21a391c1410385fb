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

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// checkEvery is the number of rows between two looks at the context.
const checkEvery = 1 << 12

// Accumulate sums rows, which it reads once and in constant memory, exactly and without
// noise: the input of NonPrivate. Each row has the m values of d.Columns(), in scaled units,
// as table.CSV yields them. What it returns is as sensitive as the rows. That there is none is
// not an error here, which would tell add-remove neighbours apart.
//
// Errors: what rows yields (the first ends the sum), a row that is not of m numbers in
// [-1, 1], a context that is done. An error about a row says which one, and not what it holds.
func Accumulate(ctx context.Context, rows iter.Seq2[[]float64, error], d *schema.Design) (*ssp.Statistics, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
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
		if a.N()%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return a.Statistics(), ctx.Err()
}
