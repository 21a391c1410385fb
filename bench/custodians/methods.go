package main

import (
	"context"
	"math"
	"slices"

	"github.com/dpreg/dpreg/bench/rivals"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// method infers θ, the first parameters of its draws, from a trial's data.
type method struct {
	name   string
	long   int // draws of its chains, as a multiple; 0: as others
	sample func(ctx context.Context, d data, plan mcmc.Plan) (*posterior.Draws, error)
}

// slowly is how much longer the chains and the warm-up of normalx are, one in fifty of
// whose sweeps counts where noise dominates.
const slowly = 20

// methods lists those that are compared.
func (s *settings) methods() (chosen []method) {
	all := []method{
		{"non-private", 0, func(ctx context.Context, d data, plan mcmc.Plan) (*posterior.Draws, error) {
			return model.Naive{}.Sample(ctx, d.without, plan)
		}},
		{"naive", 0, of(model.Naive{}, nil)},
		{"summed", 0, func(ctx context.Context, d data, plan mcmc.Plan) (*posterior.Draws, error) {
			return exact.Method{}.Sample(ctx, summed(d.noisy), plan)
		}},
		{"gibbs-ss-update", 0, of(gibbs.Method{Moments: gibbs.Update}, nil)},
		{"mcmc-exact", 0, of(exact.Method{}, nil)},
		{"mcmc-exact, separate covariates", 0, of(exact.Method{}, func(p *model.Problem) { p.SharedCovariates = false })},
	}
	if s.delta > 0 {
		all = append(all, method{"normalx", slowly, of(rivals.NormalX{}, nil)}, method{"fixeds", 0, of(rivals.FixedS{}, nil)})
	}
	for _, m := range all {
		if s.only == nil || slices.Contains(s.only, m.name) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// of is a method on the noisy releases, of a problem that is changed first.
func of(m model.Method, change func(*model.Problem)) func(context.Context, data, mcmc.Plan) (*posterior.Draws, error) {
	return func(ctx context.Context, d data, plan mcmc.Plan) (*posterior.Draws, error) {
		p := *d.noisy
		if change != nil {
			change(&p)
		}
		return m.Sample(ctx, &p, plan)
	}
}

// summed is what an analyst has who adds the releases up first: one release of all
// rows, with noise of the summed variance, which is taken for normal.
func summed(p *model.Problem) *model.Problem {
	if len(p.Releases) == 1 {
		return p
	}
	z, rows, variance := make([]float64, shape.Statistics()), 0, 0.0
	for _, r := range p.Releases {
		for i, v := range r.Statistics.Vector() {
			z[i] += v
		}
		rows += int(r.N)
		variance += r.Noise.SD() * r.Noise.SD()
	}
	return &model.Problem{Prior: p.Prior, Releases: []*release.Release{written(rows, release.Gaussian, math.Sqrt(variance), z)}}
}
