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
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
)

// Kernel names the sweep that a method runs.
type Kernel string

// The kernels.
const (
	// Exact is the default: moves with the statistics integrated out, which
	// leave the posterior invariant; of gibbs-ss-update with the exact law of
	// the statistics, of the others with the CLT's.
	Exact Kernel = "exact"
	// Plain is the sweep as published.
	Plain Kernel = "plain"
)

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

// run is what the methods differ in.
type run struct {
	method string
	kernel Kernel
	obs    *model.Observation
	prior  *model.Prior
	names  []string      // parameters other than n
	law    func() source // a new one for each chain
	// exact starts a chain of the default kernel, and least is the number of rows
	// that it needs.
	exact func(rng *rand.Rand) mcmc.Kernel[Info]
	least int
}

// observe reads a problem of one release.
func observe(p *model.Problem) (*model.Observation, error) {
	obs, err := p.Single()
	if err != nil {
		return nil, err
	}
	if err := obs.Once("a method gibbs-ss-"); err != nil {
		return nil, err
	}
	return obs, p.Prior.Check(obs.Shape)
}

// enoughRows refuses a release whose rows have a scatter without a density.
func (r *run) enoughRows() error {
	if !r.obs.Count.Latent() && r.obs.N < float64(r.least) {
		return fmt.Errorf("%s: %d columns need more than %d rows, and the release has n = %g: the law of their scatter has no density; infer a smaller model by --formula", r.method, r.least-1, r.least-1, r.obs.N)
	}
	return nil
}

// sample runs the chains and says what a reader of the draws should know.
func (r *run) sample(ctx context.Context, plan mcmc.Plan) (*posterior.Draws, error) {
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) { return r.exact(rng), nil }
	switch r.kernel {
	case Exact, "":
		if err := r.enoughRows(); err != nil {
			return nil, err
		}
		if err := nuts.CheckWarmup(r.method, plan); err != nil {
			return nil, err
		}
	case Plain:
		start = func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) {
			return newPlain(r.obs, r.prior, r.law(), rng), nil
		}
	default:
		return nil, fmt.Errorf("%s: unknown kernel %q: %q or %q", r.method, r.kernel, Exact, Plain)
	}
	columns := mcmc.Columns{Params: r.obs.WithCount(r.names), Info: InfoNames}
	draws, err := mcmc.Run(ctx, columns, start, keep, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, r.warnings(draws)...)
	}
	return draws, err
}
