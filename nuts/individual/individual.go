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
	// the statistics are those of the rows clamped to [−1, 1].
	ModelClamping bool
}

// Name returns the method's name on the command line.
func (Method) Name() string { return "mcmc-ind" }

// Law returns the law of the statistics, of whose moments forecasts and the price
// of privacy are made. Where clamping is modelled it is an error.
func (m Method) Law(p *model.Problem) (model.Law, error) {
	if m.ModelClamping {
		return nil, errors.New("mcmc-ind: the statistics of clamped rows have no law in closed form")
	}
	obs, err := m.observe(p)
	if err != nil {
		return nil, err
	}
	return model.NewMoments(obs.Shape), nil
}

// Sample draws from the posterior. Draws are in scaled units, named by
// model.Observation.Names; the sampler's columns are nuts.InfoNames, of which lp__
// is the log density of parameters and rows together. Draws from several releases are
// named by model.Joint.Names.
func (m Method) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	if p.Several() {
		return m.sampleJointly(ctx, p, plan)
	}
	obs, err := m.observe(p)
	if err != nil {
		return nil, err
	}
	if err := nuts.CheckWarmup(m.Name(), plan); err != nil {
		return nil, err
	}
	start := func(_ int, rng *rand.Rand) (sized, error) {
		return newKernel(obs, p.Prior, m.ModelClamping, rng)
	}
	return run(ctx, obs.Names(), start, plan)
}

// sampleJointly draws from the posterior of several releases.
func (m Method) sampleJointly(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	for j, s := range joint.Sites {
		if err := m.usable(s.Observation, joint.Rows()); err != nil {
			return nil, &model.SiteError{Site: j, Err: err}
		}
	}
	if err := nuts.CheckWarmup(m.Name(), plan); err != nil {
		return nil, err
	}
	start := func(_ int, rng *rand.Rand) (sized, error) {
		return newSitesKernel(joint, m.ModelClamping, rng)
	}
	return run(ctx, joint.Names(), start, plan)
}

// run runs chains, and says what their columns tell against them.
func run(ctx context.Context, names []string, start func(int, *rand.Rand) (sized, error), plan mcmc.Plan) (*posterior.Draws, error) {
	if plan.Expect != nil && plan.Validate() == nil && ctx.Err() == nil {
		if err := expect(start, plan); err != nil {
			return nil, err
		}
	}
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: names, Info: nuts.InfoNames}, func(chain int, rng *rand.Rand) (mcmc.Kernel[nuts.Info], error) { return start(chain, rng) }, nuts.Keep, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, nuts.Warnings(draws, nuts.Options{})...)
	}
	return draws, err
}

// mostRows is where a chain takes a few GB of memory.
const mostRows = 1_000_000

// observe returns the one observation of a problem that the method can use.
func (m Method) observe(p *model.Problem) (*model.Observation, error) {
	obs, err := p.Single()
	if err != nil {
		return nil, err
	}
	if err := m.usable(obs, obs.N); err != nil {
		return nil, err
	}
	return obs, p.Prior.Check(obs.Shape)
}

// usable refuses a release with which the method can do nothing, of so many rows
// in all.
func (m Method) usable(obs *model.Observation, rows float64) error {
	switch {
	case obs.Count.Latent():
		return fmt.Errorf("%s: the release's neighbours are add-remove, so the number of rows is not known, and this method has a latent variable for each row; take --method mcmc-exact", m.Name())
	case rows > mostRows:
		return fmt.Errorf("%s: n = %g, and this method holds every row, at most %d; take --method mcmc-exact, whose cost does not depend on n", m.Name(), rows, mostRows)
	}
	return nil
}
