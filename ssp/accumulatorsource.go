package ssp

import (
	"context"
	"fmt"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// Sum sums the rows of a source, of the columns of d in scaled units, exactly and
// without noise, by so many workers at once; the result does not depend on how many. It
// panics if there is none.
//
// Errors are those of table.Options.Scan. That no row is left, where some were left out,
// is none: Publish knows whether that may be told.
func Sum(ctx context.Context, s *table.Source, o table.Options, d *schema.Design, workers int) (*Statistics, error) {
	sums, err := scan(ctx, s, o, d, workers, func() *part { return &part{rows: NewAccumulator(len(d.Covariates) + 1)} })
	if err != nil {
		return nil, err
	}
	return sums.rows.Statistics(), nil
}

// SumMoments is Sum, and sums the moments of the covariates of degree 3 and 4 beside. It
// is an error if there are more than release.MaxMomentCovariates.
func SumMoments(ctx context.Context, s *table.Source, o table.Options, d *schema.Design, workers int) (*Statistics, *Moments, error) {
	p := len(d.Covariates)
	if p > release.MaxMomentCovariates {
		return nil, nil, fmt.Errorf("%d covariates: moments are released of at most %d", p, release.MaxMomentCovariates)
	}
	sums, err := scan(ctx, s, o, d, workers, func() *part { return &part{NewAccumulator(p + 1), NewMomentAccumulator(p)} })
	if err != nil {
		return nil, nil, err
	}
	return sums.rows.Statistics(), sums.moments.Moments(), nil
}

// part is what a worker sums; moments may be nil.
type part struct {
	rows    *Accumulator
	moments *MomentAccumulator
}

func (p *part) add(rows []float64) error {
	if err := p.rows.AddRows(rows); err != nil || p.moments == nil {
		return err
	}
	for m := p.rows.Dim(); len(rows) > 0; rows = rows[m:] {
		if err := p.moments.Add(rows[:m]); err != nil {
			return err
		}
	}
	return nil
}

func (p *part) merge(other *part) error {
	err := p.rows.Merge(other.rows)
	if err == nil && p.moments != nil {
		err = p.moments.Merge(other.moments)
	}
	return err
}

// scan gives each worker a part of its own and merges these.
func scan(ctx context.Context, s *table.Source, o table.Options, d *schema.Design, workers int, empty func() *part) (*part, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	parts := make([]*part, workers)
	sinks := make([]func([]float64) error, workers)
	for i := range parts {
		parts[i] = empty()
		sinks[i] = parts[i].add
	}
	if err := o.Scan(ctx, s, d, sinks...); err != nil {
		return nil, err
	}
	for _, other := range parts[1:] {
		if err := parts[0].merge(other); err != nil {
			return nil, err
		}
	}
	return parts[0], nil
}
