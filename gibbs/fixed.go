package gibbs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// Prior is the method gibbs-ss-prior: moments of x from a fixed law of x, that
// the prior states (model.Prior.XMoments). The posterior is that of (θ, σ²)
// under the CLT's law of the statistics, which is right as n → ∞.
type Prior struct {
	Kernel Kernel // empty: Exact
}

// Name returns the method's name on the command line.
func (Prior) Name() string { return "gibbs-ss-prior" }

// Traits are of a method that takes the covariates' law from the prior.
func (m Prior) Traits() model.Traits { return m.Kernel.traits(model.StatedCovariates) }

// Law returns the law of the statistics that the method infers with.
func (m Prior) Law(p *model.Problem) (model.Law, error) {
	_, law, err := m.read(p)
	return law, err
}

// Can refuses several releases, several measurements of a sum, and laws without moments.
func (m Prior) Can(p *model.Problem) error {
	_, _, err := m.read(p)
	return err
}

func (m Prior) read(p *model.Problem) (*model.Observation, *model.FixedMoments, error) {
	return readFixed(p, m.Name(), m.Kernel, func(*model.Observation) (*model.XMoments, error) { return p.Prior.XMoments() })
}

// Sample draws from the posterior. Draws are in scaled units, named by
// model.Shape.RegressionNames, and n where it is latent.
func (m Prior) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	obs, law, err := m.read(p)
	if err != nil {
		return nil, err
	}
	draws, err := fixedSample(ctx, m.Name(), m.Kernel, obs, p.Prior, law, plan)
	if draws != nil && p.Prior.X == nil {
		draws.Warnings = append(draws.Warnings, m.Name()+` takes the moments of the covariates for known, and the prior states no "x": those of a normal law serve, with the mean of the covariates' prior and the mean of its T`)
	}
	return draws, err
}

// Noisy is the method gibbs-ss-noisy: moments of x of degree ≤ 4 that the release
// holds beside the statistics, with noise, taken for exact once they are
// projected to moments of some distribution (model.NoisyMoments.XMoments). The
// posterior is that of (θ, σ²) under the CLT's law of the statistics.
type Noisy struct {
	Kernel Kernel // empty: Exact
}

// Name returns the method's name on the command line.
func (Noisy) Name() string { return "gibbs-ss-noisy" }

// Traits are of a method that takes released moments for the covariates' law.
func (m Noisy) Traits() model.Traits { return m.Kernel.traits(model.ReleasedCovariates) }

// Law returns the law of the statistics that the method infers with.
func (m Noisy) Law(p *model.Problem) (model.Law, error) {
	_, law, err := m.read(p)
	return law, err
}

// Can refuses several releases, several measurements of a sum, a release without moments,
// and what model.NoisyMoments.XMoments refuses.
func (m Noisy) Can(p *model.Problem) error {
	_, _, err := m.read(p)
	return err
}

func (m Noisy) read(p *model.Problem) (*model.Observation, *model.FixedMoments, error) {
	return readFixed(p, m.Name(), m.Kernel, func(obs *model.Observation) (*model.XMoments, error) {
		if obs.Moments == nil {
			return nil, errors.New("the release holds no moments of the covariates of degree 3 and 4: make one with --with-moments, or take gibbs-ss-update")
		}
		return obs.Moments.XMoments()
	})
}

// Sample draws from the posterior. Draws are in scaled units, named by
// model.Shape.RegressionNames, and n where it is latent.
func (m Noisy) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	obs, law, err := m.read(p)
	if err != nil {
		return nil, err
	}
	draws, err := fixedSample(ctx, m.Name(), m.Kernel, obs, p.Prior, law, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, m.Name()+" takes the noisy moments of the covariates for exact: its intervals are too narrow wherever the noise matters")
	}
	return draws, err
}

// readFixed reads a problem of one release and the law that moments of x make.
func readFixed(p *model.Problem, method string, kernel Kernel, moments func(*model.Observation) (*model.XMoments, error)) (*model.Observation, *model.FixedMoments, error) {
	obs, err := p.Single()
	if err != nil {
		return nil, nil, err
	}
	if err := kernel.check(method, obs); err != nil {
		return nil, nil, err
	}
	law, err := fixedLaw(obs.Shape, func() (*model.XMoments, error) { return moments(obs) })
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", method, err)
	}
	return obs, law, nil
}

func fixedLaw(s model.Shape, moments func() (*model.XMoments, error)) (*model.FixedMoments, error) {
	x, err := moments()
	if err != nil {
		return nil, err
	}
	return model.NewFixedMoments(s, x)
}

// inConflict is the distance, in standard deviations, between sums of covariates and
// what their moments say that is told. A sum with Laplace noise alone goes
// beyond it with probability 2e-4.
const inConflict = 6

func fixedSample(ctx context.Context, method string, kernel Kernel, obs *model.Observation, prior *model.Prior, law *model.FixedMoments, plan mcmc.Plan) (*posterior.Draws, error) {
	r := &run{
		method: method, kernel: kernel, names: obs.RegressionNames(), rows: obs.N,
		exact: func(rng *rand.Rand) mcmc.Kernel[Info] {
			return newCLT(obs, prior, newFixed(obs.Shape, prior, law), rng)
		},
		plain: func(rng *rand.Rand) mcmc.Kernel[Info] {
			return newPlain(obs, prior, newFixed(obs.Shape, prior, law), rng)
		},
	}
	draws, err := r.sample(ctx, plan)
	e := noise{obs.Kind, obs.Scale}
	far := law.Conflict(obs.Z, obs.N, e.sd, math.Sqrt2*obs.Count.Scale)
	if draws != nil && far > inConflict {
		draws.Warnings = append(draws.Warnings, fmt.Sprintf("the release's sums of covariates lie up to %.0f standard deviations from what the moments that %s takes for known make of them: these are not the moments of its rows, and the posterior is wrong with them; take gibbs-ss-update, or state another law of the covariates", far, method))
	}
	return draws, err
}
