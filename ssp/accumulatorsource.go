package ssp

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// Sum is Accumulate without moments.
func Sum(ctx context.Context, s *table.Source, o table.Options, d *schema.Design, workers int) (*Statistics, error) {
	sums, _, err := Accumulate(ctx, s, o, d, false, workers)
	if err != nil {
		return nil, err
	}
	return sums.Statistics(), nil
}

// Accumulate sums the rows of a source, of the columns of d in scaled units, exactly and
// without noise, by so many workers at once; the result does not depend on how many. Where moments
// are asked for, those of the covariates of degree 3 and 4 are summed beside; else they are
// nil. It panics if there is no worker.
//
// Errors are those of table.Options.Scan; more than release.MaxMomentCovariates. That no row
// is left, where some were left out, is none: Publish knows whether that may be told.
func Accumulate(ctx context.Context, s *table.Source, o table.Options, d *schema.Design, moments bool, workers int) (*Accumulator, *MomentAccumulator, error) {
	p := len(d.Covariates)
	if moments && p > release.MaxMomentCovariates {
		return nil, nil, fmt.Errorf("%d covariates: moments are released of at most %d", p, release.MaxMomentCovariates)
	}
	low, high, sinks := make([]*Accumulator, workers), make([]*MomentAccumulator, workers), make([]func([]float64) error, workers)
	for i := range sinks {
		low[i] = NewAccumulator(p + 1)
		sinks[i] = low[i].AddRows
		if moments {
			high[i] = NewMomentAccumulator(p)
			sinks[i] = func(rows []float64) error { return errors.Join(low[i].AddRows(rows), high[i].addRows(rows, p+1)) }
		}
	}
	if err := o.Scan(ctx, s, d, sinks...); err != nil {
		return nil, nil, err
	}
	for i := 1; i < workers; i++ {
		err := low[0].Merge(low[i])
		if moments && err == nil {
			err = high[0].Merge(high[i])
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return low[0], high[0], nil
}
