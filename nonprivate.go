package dpreg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

const nonPrivate = "non-private"

// NonPrivate draws from the posterior given the exact statistics s of the
// design's columns, for studies: the yardstick of what noise costs. Its result
// is not private. The draws are independent, so that a plan's warm-up is not
// run; o.Method is empty or "non-private", o.Kernel empty.
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
	if f.Prior, err = o.prior(f.shape()); err != nil {
		return nil, err
	}
	start := func(int, *rand.Rand) (mcmc.Kernel[struct{}], error) {
		return newConjugateKernel(f.shape(), f.Prior, s)
	}
	keep := func(struct{}, []float64) {}
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: f.shape().Names()}, start, keep, f.Plan)
	if err != nil {
		return nil, err
	}
	draws.Warnings = append(draws.Warnings, nonPrivate+" uses the rows without noise: nothing here is private, and none of it may be published as if it were")
	return f.with(draws)
}

// conjugateKernel draws (θ, σ²) ~ NIG and (μ_x, T) ~ NIW independently at each
// step: the model's posterior given s factors so, and both parts are conjugate.
type conjugateKernel struct {
	theta      *conjugate.NIGSampler
	covariates *conjugate.NIWSampler
	at         *model.Params
}

func newConjugateKernel(shape model.Shape, prior *model.Prior, s *ssp.Statistics) (*conjugateKernel, error) {
	k := &conjugateKernel{
		theta:      conjugate.NewNIGSampler(shape.Q()),
		covariates: conjugate.NewNIWSampler(shape.P),
		at:         model.NewParams(shape),
	}
	sums, n := model.NewSums(shape), float64(s.N)
	sums.Set(s.Vector(), n)
	if !k.theta.Update(prior.Theta.Clone(), prior.Theta, sums.XX, sums.XY, sums.YY, n) ||
		!k.covariates.Update(prior.Covariates.Clone(), prior.Covariates, n, sums.SX, sums.SXX) {
		return nil, fmt.Errorf("method %s: the posterior's matrices are not positive definite: columns are collinear and the prior is too weak to tell them apart", nonPrivate)
	}
	return k, nil
}

// Step draws anew, whatever the present state is.
func (k *conjugateKernel) Step(rng *rand.Rand) struct{} {
	k.at.Sigma2 = k.theta.Rand(k.at.Theta, rng)
	k.covariates.Rand(k.at.MuX, k.at.Tau, rng)
	return struct{}{}
}

// Params writes the parameters in the order of model.Shape.Names.
func (k *conjugateKernel) Params(dst []float64) { k.at.Write(dst) }
