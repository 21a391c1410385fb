// Package gibbs is Gibbs-SS, the noise-aware Gibbs sampler on sufficient
// statistics of Bernstein & Sheldon (2019), "Differentially Private Bayesian
// Linear Regression", NeurIPS: as published, and with a kernel that has the
// exact posterior as its stationary law and mixes at every noise level.
package gibbs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// Kernel names the sweep that a method runs.
type Kernel string

// The kernels.
const (
	// Exact is the default: moves that leave the posterior invariant, of
	// gibbs-ss-update with the exact law of the statistics, of the others with the CLT's.
	Exact Kernel = "exact"
	// Plain is the sweep as published.
	Plain Kernel = "plain"
)

// Info is what one sweep did beside moving the state.
type Info struct {
	transition
	Hamiltonian bool    // (a) was HMC
	Correction  float64 // acceptance probability of s′, the mean over releases
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
	method       string
	kernel       Kernel
	names        []string
	rows         float64                            // the fewest of a release whose statistics are taken for normal
	exact, plain func(*rand.Rand) mcmc.Kernel[Info] // start a chain
}

// check refuses kernels that there are not, and several measurements of a sum.
func (k Kernel) check(method string, obs *model.Observation) error {
	switch k {
	case Exact, Plain, "":
		return obs.Once("a method gibbs-ss-")
	}
	return fmt.Errorf("%s: unknown kernel %q: %q or %q", method, k, Exact, Plain)
}

// traits are those of a method that runs the kernel.
func (k Kernel) traits(x model.Covariates) model.Traits {
	t := model.Traits{Warmup: model.AdaptiveWarmup, Kernels: true, Covariates: x}
	if k == Plain {
		t.Warmup = 0
	}
	return t
}

// sample runs the chains and says what a reader of the draws should know.
func (r *run) sample(ctx context.Context, plan mcmc.Plan) (*posterior.Draws, error) {
	if err := r.kernel.traits(0).Check(r.method, plan); err != nil {
		return nil, err
	}
	begin := r.exact
	if r.kernel == Plain {
		begin = r.plain
	}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) { return begin(rng), nil }
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: r.names, Info: InfoNames}, start, keep, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, r.warnings(draws)...)
	}
	return draws, err
}

// smallest is the number of rows below which the CLT is a poor description of
// the statistics.
const smallest = 30

// manyDivergences is the share of diverging trajectories that is told. Few do no
// harm: they come from a small ω, at which the metric is too wide; the move is
// refused, and the next draw of ω ends it.
const manyDivergences = 0.05

// warnings tells what a reader of the posterior should know.
func (r *run) warnings(d *posterior.Draws) (w []string) {
	if r.rows < smallest {
		w = append(w, fmt.Sprintf("n = %g is below %d: the normal approximation of the statistics is poor there", r.rows, smallest))
	}
	if r.kernel == Plain {
		w = append(w, "kernel plain is the sampler as published: its conditionals are not those of one joint law, so its draws are near the posterior's, not from it")
	}
	if share := infoMean(d, "divergent__"); share > manyDivergences {
		w = append(w, fmt.Sprintf("%.2g %% of the trajectories diverged: the chains may mix badly; look at the effective sample sizes", 100*share))
	}
	for _, c := range []struct{ column, what string }{
		{"projected__", "of the sweeps drew statistics that no data could have, and projected them"},
		{"failed__", "of the sweeps skipped a step because rounding left a matrix indefinite"},
	} {
		if share := infoMean(d, c.column); share > 0 {
			w = append(w, fmt.Sprintf("%.2g %% %s", 100*share, c.what))
		}
	}
	return w
}

// infoMean is the mean of a sampler's column over all kept draws.
func infoMean(d *posterior.Draws, column string) float64 {
	j, width := slices.Index(d.InfoNames, column), len(d.InfoNames)
	sum, count := 0.0, 0
	for _, info := range d.Info {
		for i := j; i < len(info); i += width {
			sum += info[i]
			count++
		}
	}
	if count == 0 {
		return 0
	}
	return sum / float64(count)
}
