// Package exact is the method mcmc-exact: the posterior under the exact law of the
// statistics of normal rows, without CLT and projection, at a cost that does not
// depend on the number of rows.
package exact

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
)

// Method is mcmc-exact.
type Method struct{}

// Name returns the method's name on the command line.
func (Method) Name() string { return "mcmc-exact" }

// Law returns the law of the statistics, of whose moments forecasts and the price
// of privacy are made.
func (Method) Law(p *model.Problem) (model.Law, error) {
	obs, err := p.Single()
	if err != nil {
		return nil, err
	}
	return model.NewMoments(obs.Shape), nil
}

// Sample draws from the posterior. Draws are in scaled units, named by
// model.Observation.Names; the sampler's columns are nuts.InfoNames, of which
// lp__ is the log density of the statistics. It is an error for the release to
// have fewer rows than columns and one more: their scatter has no density then. Draws
// from several releases are named by model.Joint.Names.
func (m Method) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	if p.Several() {
		return m.sampleJoint(ctx, p, plan)
	}
	obs, err := p.Single()
	if err != nil {
		return nil, err
	}
	if err := p.Prior.Check(obs.Shape); err != nil {
		return nil, err
	}
	if err := nuts.CheckWarmup(m.Name(), plan); err != nil {
		return nil, err
	}
	if err := m.enoughRows(obs); err != nil {
		return nil, err
	}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[nuts.Info], error) { return newKernel(obs, p.Prior, rng) }
	return run(ctx, obs.Names(), start, plan)
}

// sampleJoint draws from the posterior of several releases.
func (m Method) sampleJoint(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	if err := nuts.CheckWarmup(m.Name(), plan); err != nil {
		return nil, err
	}
	for j, site := range joint.Sites {
		if err := m.enoughRows(site.Observation); err != nil {
			return nil, &model.SiteError{Site: j, Err: err}
		}
	}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[nuts.Info], error) { return newJointKernel(joint, rng) }
	return run(ctx, joint.Names(), start, plan)
}

// enoughRows refuses a release whose rows have a scatter without a density.
func (m Method) enoughRows(obs *model.Observation) error {
	if columns := obs.Shape.M(); !obs.Count.Latent() && obs.N < float64(columns+1) {
		return fmt.Errorf("%s: %d columns need at least %d rows, and the release has n = %g: the law of their scatter has no density; take --method mcmc-ind, which has no such limit", m.Name(), columns, columns+1, obs.N)
	}
	return nil
}

// run runs chains, and says what their columns tell against them.
func run(ctx context.Context, names []string, start func(int, *rand.Rand) (mcmc.Kernel[nuts.Info], error), plan mcmc.Plan) (*posterior.Draws, error) {
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: names, Info: nuts.InfoNames}, start, nuts.Keep, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, nuts.Warnings(draws, nuts.Options{})...)
	}
	return draws, err
}
