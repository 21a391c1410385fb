// Package individual is the method mcmc-ind: NUTS with every individual latent.
package individual

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
)

// Method is mcmc-ind.
type Method struct {
	// ModelClamping makes clamping a part of the model: rows are unbounded, and
	// the statistics are those of the rows clamped to [−1, 1], or clipped to the radius of
	// the release's frame.
	ModelClamping bool
}

// Name returns the method's name on the command line.
func (Method) Name() string { return "mcmc-ind" }

// Traits are of a method that adapts, and has the covariates' law among its parameters.
func (Method) Traits() model.Traits {
	return model.Traits{Warmup: model.AdaptiveWarmup, Clamping: true, Covariates: model.LearntCovariates}
}

// Law returns the law of the statistics, of whose moments forecasts and the price
// of privacy are made. Where clamping is modelled it is an error.
func (m Method) Law(p *model.Problem) (model.Law, error) {
	if m.ModelClamping {
		return nil, errors.New("mcmc-ind: the statistics of clamped rows have no law in closed form")
	}
	return p.NormalLaw()
}

// mostRows is where a chain takes a few GB of memory.
const mostRows = 1_000_000

// Can refuses a latent number of rows, and more than mostRows in all.
func (m Method) Can(p *model.Problem) error {
	_, err := m.read(p)
	return err
}

func (m Method) read(p *model.Problem) (*model.Joint, error) {
	if err := p.Linear(m.Name()); err != nil {
		return nil, err
	}
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	rows := joint.Rows()
	if m.ModelClamping {
		for _, site := range joint.Sites {
			site.Observation = site.Clipped()
		}
	}
	return joint, joint.Each(func(obs *model.Observation) error {
		switch {

		case obs.Count.Latent():
			return fmt.Errorf("%s: the release's neighbours are add-remove, so the number of rows is not known, and this method has a latent variable for each row; take --method mcmc-exact", m.Name())
		case rows > mostRows:
			return fmt.Errorf("%s: n = %g, and this method holds every row, at most %d; take --method mcmc-exact, whose cost does not depend on n", m.Name(), rows, mostRows)
		}
		return nil
	})
}

// Sample draws from the posterior. Draws are in scaled units, named by
// model.Joint.Names; the sampler's columns are nuts.InfoNames, of which lp__
// is the log density of parameters and rows together.
func (m Method) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	joint, err := m.read(p)
	if err != nil {
		return nil, err
	}
	if err := m.Traits().Check(m.Name(), plan); err != nil {
		return nil, err
	}
	start := func(_ int, rng *rand.Rand) (*nuts.Sampler, error) {
		if len(joint.Sites) == 1 && joint.Sites[0].Frame == nil {
			return newKernel(joint.Sites[0].Observation, joint.Prior, m.ModelClamping, rng)
		}
		return newSitesKernel(joint, m.ModelClamping, rng)
	}
	if plan.Expect != nil && ctx.Err() == nil {
		if err := nuts.Expect(start, plan, manyLeapfrogs); err != nil {
			return nil, err
		}
	}
	return nuts.Run(ctx, joint.Names(), start, nuts.Options{}, plan)
}

// manyLeapfrogs see nuts.Expect: 2.1 to 4.6 were seen from 1000 to 25,000 rows, and 9.3 where clamping is modelled
// (docs/mcmc-ind.md).
const manyLeapfrogs = 10
