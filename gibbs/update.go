package gibbs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

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

// Sample draws from the posterior of one release or several. Draws are in scaled units, named
// by model.Observation.Names, of several by model.Joint.Names. The default kernel needs n > m,
// the number of columns with the response.
func (u Update) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	if !p.Several() {
		obs, err := observe(p)
		if err != nil {
			return nil, err
		}
		if err := u.enoughRows(obs); err != nil {
			return nil, err
		}
		r := u.run(alone(obs, p.Prior))
		r.names = obs.Names()
		return r.sample(ctx, plan)
	}
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	for j, s := range joint.Sites {
		if err := u.enoughRows(s.Observation); err != nil {
			return nil, &model.SiteError{Site: j, Err: err}
		}
	}
	return u.run(joint).sample(ctx, plan)
}

// alone is the joint problem of one release, in its own units.
func alone(obs *model.Observation, prior *model.Prior) *model.Joint {
	m := obs.Shape.M()
	same := &model.Units{Scale: slices.Repeat([]float64{1}, m), Shift: make([]float64, m)}
	return &model.Joint{Shape: obs.Shape, Prior: prior, Shared: true, Sites: []*model.Site{{Observation: obs, Units: same}}}
}

func (u Update) run(p *model.Joint) *run {
	r := &run{
		method: u.Name(), kernel: u.Kernel, names: p.Names(), rows: math.Inf(1),
		exact: func(rng *rand.Rand) mcmc.Kernel[Info] { return newExactSites(p, rng) },
		plain: func(rng *rand.Rand) mcmc.Kernel[Info] { return newPlainSites(p, rng) },
	}
	for _, s := range p.Sites {
		if u.Kernel == Plain {
			r.rows = min(r.rows, s.N)
		}
	}
	return r
}

// enoughRows refuses a release whose rows have a scatter without a density.
func (u Update) enoughRows(o *model.Observation) error {
	if m := o.Shape.M(); u.Kernel != Plain && !o.Count.Latent() && o.N <= float64(m) {
		return fmt.Errorf("%s: %d columns need more than %d rows, and the release has n = %g: the law of their scatter has no density; infer a smaller model by --formula", u.Name(), m, m, o.N)
	}
	return nil
}
