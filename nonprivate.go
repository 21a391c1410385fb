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
// design's columns, for studies: the yardstick of what noise costs. Its result
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
	vector := s.Vector()
	start := func(int, *rand.Rand) (mcmc.Kernel[struct{}], error) {
		return model.NewGiven(nonPrivate, f.shape(), f.Prior, true, vector, float64(s.N)), nil
	}
	keep := func(struct{}, []float64) {}
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: f.shape().Names()}, start, keep, f.Plan)
	if err != nil {
		return nil, err
	}
	draws.Warnings = append(draws.Warnings, nonPrivate+" uses the rows without noise: nothing here is private, and none of it may be published as if it were")
	return f.with(draws)
}
