package gibbs

import (
	"context"
	"fmt"
	"math"
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

// Traits are of a method that has the covariates' law among its parameters.
func (u Update) Traits() model.Traits { return u.Kernel.traits(model.LearntCovariates) }

// Law returns the law of the statistics that the method infers with.
func (Update) Law(p *model.Problem) (model.Law, error) {
	return p.NormalLaw()
}

// Can refuses several measurements of a sum, and for the default kernel releases of no more
// rows than columns: their scatter has no density.
func (u Update) Can(p *model.Problem) error {
	_, err := u.read(p)
	return err
}

func (u Update) read(p *model.Problem) (*model.Joint, error) {
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	return joint, joint.Each(func(o *model.Observation) error {
		if m := o.Shape.M(); u.Kernel != Plain && !o.Count.Latent() && o.N <= float64(m) {
			return fmt.Errorf("%s: %d columns need more than %d rows, and the release has n = %g: the law of their scatter has no density; infer a smaller model by --formula", u.Name(), m, m, o.N)
		}
		return u.Kernel.check(u.Name(), o)
	})
}

// Sample draws from the posterior of one release or several. Draws are in scaled units, named
// by model.Joint.Names.
func (u Update) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	joint, err := u.read(p)
	if err != nil {
		return nil, err
	}
	return u.run(joint).sample(ctx, plan)
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
