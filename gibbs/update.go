package gibbs

import (
	"context"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// Update is the method gibbs-ss-update: moments of x from the hierarchical
// normal prior.
type Update struct {
	Kernel Kernel // empty: Exact
}

// Name returns the method's name on the command line.
func (Update) Name() string { return "gibbs-ss-update" }

// Law returns the law of the statistics that the method infers with.
func (Update) Law(p *model.Problem) (model.Law, error) {
	obs, err := observe(p)
	if err != nil {
		return nil, err
	}
	return model.NewMoments(obs.Shape), nil
}

// Sample draws from the posterior. Draws are in scaled units, named by
// model.Observation.Names. The default kernel needs n > m, the number of columns with
// the response. Draws from several releases are named by model.Joint.Names.
func (u Update) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	if p.Several() {
		return u.sampleJointly(ctx, p, plan)
	}
	obs, err := observe(p)
	if err != nil {
		return nil, err
	}
	return u.run(obs, p.Prior).sample(ctx, plan)
}

func (u Update) run(obs *model.Observation, prior *model.Prior) *run {
	return &run{
		method: u.Name(), kernel: u.Kernel, obs: obs, prior: prior,
		names: obs.Shape.Names(), least: obs.Shape.M() + 1,
		law:   func() source { return newHierarchical(obs.Shape, prior) },
		exact: func(rng *rand.Rand) mcmc.Kernel[Info] { return newExact(obs, prior, rng) },
	}
}
