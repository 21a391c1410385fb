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
// have fewer rows than columns and one more: their scatter has no density then.
func (m Method) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
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
	if columns := obs.Shape.M(); !obs.Count.Latent() && obs.N < float64(columns+1) {
		return nil, fmt.Errorf("%s: %d columns need at least %d rows, and the release has n = %g: the law of their scatter has no density; take --method mcmc-ind, which has no such limit", m.Name(), columns, columns+1, obs.N)
	}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[nuts.Info], error) { return newKernel(obs, p.Prior, rng) }
	columns := mcmc.Columns{Params: obs.Names(), Info: nuts.InfoNames}
	draws, err := mcmc.Run(ctx, columns, start, nuts.Keep, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, nuts.Warnings(draws, nuts.Options{})...)
	}
	return draws, err
}
