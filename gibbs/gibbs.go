// Package gibbs is Gibbs-SS, the noise-aware Gibbs sampler on sufficient
// statistics of Bernstein & Sheldon (2019), "Differentially Private Bayesian
// Linear Regression", NeurIPS: as published, and with a kernel that has the
// exact posterior as its stationary law and mixes at every noise level.
package gibbs

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// Kernel names the sweep that Update runs.
type Kernel string

// The kernels of gibbs-ss-update.
const (
	Exact Kernel = "exact" // the default: exact target, CLT proposal, collapsed moves
	Plain Kernel = "plain" // as published
)

// Update is the method gibbs-ss-update: moments of x from the hierarchical
// normal prior.
type Update struct {
	Kernel Kernel // empty: Exact
}

// Name returns the method's name on the command line.
func (Update) Name() string { return "gibbs-ss-update" }

// Info is what one sweep did beside moving the state.
type Info struct {
	transition
	Hamiltonian bool    // (a) was HMC
	Correction  float64 // acceptance probability of (c)
	Projected   bool    // the plain kernel projected s
	Failed      bool    // rounding left a matrix indefinite: a step was skipped
}

// InfoNames names the columns that Sample keeps of an Info, in Stan's manner.
var InfoNames = []string{"lp__", "accept_stat__", "n_leapfrog__", "divergent__", "correction__", "projected__", "failed__"}

func keep(i Info, dst []float64) {
	copy(dst, []float64{i.logDensity, i.accept, float64(i.leapfrogs), indicator(i.divergent), i.Correction,
		indicator(i.Projected), indicator(i.Failed)})
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Sample draws from the posterior. Draws are in scaled units, named by
// model.Observation.Names. The default kernel needs n > m, the number of columns with
// the response.
func (u Update) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	obs, err := p.Single()
	if err != nil {
		return nil, err
	}
	if err := p.Prior.Check(obs.Shape); err != nil {
		return nil, err
	}
	draws, err := sample(ctx, u.Kernel, obs, p.Prior, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, u.warnings(obs, draws)...)
	}
	return draws, err
}

func sample(ctx context.Context, kernel Kernel, obs *model.Observation, prior *model.Prior, plan mcmc.Plan) (*posterior.Draws, error) {
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) { return newExact(obs, prior, rng), nil }
	switch kernel {
	case Exact, "":
		if m := obs.Shape.M(); !obs.Count.Latent() && obs.N <= float64(m) {
			return nil, fmt.Errorf("gibbs-ss-update: %d columns need more than %d rows, and the release has n = %g: the law of their scatter has no density; infer a smaller model by --formula", m, m, obs.N)
		}
		if plan.Warmup < leastWarmup {
			return nil, fmt.Errorf("gibbs-ss-update: a warm-up of %d steps is too short for the default kernel to adapt; at least %d", plan.Warmup, leastWarmup)
		}
	case Plain:
		start = func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) { return newPlain(obs, prior, rng), nil }
	default:
		return nil, fmt.Errorf("gibbs-ss-update: unknown kernel %q: %q or %q", kernel, Exact, Plain)
	}
	columns := mcmc.Columns{Params: obs.Names(), Info: InfoNames}
	return mcmc.Run(ctx, columns, start, keep, plan)
}
