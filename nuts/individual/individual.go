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
// is the log density of parameters and rows together.
func (m Method) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	obs, err := m.observe(p)
	if err != nil {
		return nil, err
	}
	if err := nuts.CheckWarmup(m.Name(), plan); err != nil {
		return nil, err
	}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[nuts.Info], error) {
		return newKernel(obs, p.Prior, m.ModelClamping, rng)
	}
	columns := mcmc.Columns{Params: obs.Names(), Info: nuts.InfoNames}
	draws, err := mcmc.Run(ctx, columns, start, nuts.Keep, plan)
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
	switch {
	case err != nil:
		return nil, err
	case obs.Count.Latent():
		return nil, fmt.Errorf("%s: the release's neighbours are add-remove, so the number of rows is not known, and this method has a latent variable for each row; take --method mcmc-exact", m.Name())
	case obs.N > mostRows:
		return nil, fmt.Errorf("%s: n = %g, and this method holds every row, at most %d; take --method mcmc-exact, whose cost does not depend on n", m.Name(), obs.N, mostRows)
	}
	return obs, p.Prior.Check(obs.Shape)
}
