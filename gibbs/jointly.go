package gibbs

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
)

// sampleJointly draws from the posterior of several releases.
func (u Update) sampleJointly(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) { return newExactSites(joint, rng), nil }
	switch u.Kernel {
	case Exact, "":
		for j, s := range joint.Sites {
			if err := u.run(s.Observation, p.Prior).enoughRows(); err != nil {
				return nil, &model.SiteError{Site: j, Err: err}
			}
		}
		if err := nuts.CheckWarmup(u.Name(), plan); err != nil {
			return nil, err
		}
	case Plain:
		start = func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) {
			return &plainSites{newSites(joint, rng)}, nil
		}
	default:
		return nil, fmt.Errorf("%s: unknown kernel %q: %q or %q", u.Name(), u.Kernel, Exact, Plain)
	}
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: joint.Names(), Info: InfoNames}, start, keep, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, sweepWarnings(u.Kernel, draws)...)
	}
	return draws, err
}
