// Package gibbs is Gibbs-SS, the noise-aware Gibbs sampler on sufficient
// statistics of Bernstein & Sheldon (2019), "Differentially Private Bayesian
// Linear Regression", NeurIPS: as published, and with a kernel that has the
// exact posterior as its stationary law and mixes at every noise level.
package gibbs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// Method is gibbs-ss-update, gibbs-ss-prior or gibbs-ss-noisy, by where the moments of the
// covariates come from.
type Method struct {
	Moments Moments
	Kernel  Kernel // empty: Exact
}

// Moments names a source of the moments of the covariates.
type Moments string

// The sources. The posterior of Prior and Noisy is that of (θ, σ²) under the CLT's law of the
// statistics, which is right as n → ∞.
const (
	// Update is the hierarchical normal prior.
	Update Moments = "update"
	// Prior is a fixed law that the prior states (model.Prior.XMoments).
	Prior Moments = "prior"
	// Noisy are the moments of degree ≤ 4 that the release holds beside the statistics, with
	// noise, taken for exact once they are projected to moments of some distribution
	// (model.NoisyMoments.XMoments).
	Noisy Moments = "noisy"
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

// Name returns the method's name on the command line.
func (m Method) Name() string { return "gibbs-ss-" + string(m.Moments) }

// Traits say what is made of the covariates' law, and that the default kernel adapts.
func (m Method) Traits() model.Traits {
	t := model.Traits{Warmup: model.AdaptiveWarmup, Kernels: true, Covariates: model.LearntCovariates}
	switch m.Moments {
	case Prior:
		t.Covariates = model.StatedCovariates
	case Noisy:
		t.Covariates = model.ReleasedCovariates
	}
	if m.Kernel == Plain {
		t.Warmup = 0
	}
	return t
}

// Law returns the law of the statistics that the method infers with.
func (m Method) Law(p *model.Problem) (model.Law, error) {
	if m.Moments == Update {
		return p.NormalLaw()
	}
	r, err := m.read(p)
	if err != nil {
		return nil, err
	}
	return r.law, nil
}

// Can refuses several measurements of a sum; of Update and the default kernel releases of no
// more rows than columns, whose scatter has no density; of Prior and Noisy several releases,
// laws without moments, and releases without them.
func (m Method) Can(p *model.Problem) error {
	_, err := m.read(p)
	return err
}

func (m Method) read(p *model.Problem) (*run, error) {
	if err := p.Linear(m.Name()); err != nil {
		return nil, err
	}
	if m.Moments == Update {
		joint, err := p.Join()
		if err != nil {
			return nil, err
		}
		return m.hierarchical(joint), joint.Each(func(o *model.Observation) error {
			if c := o.Shape.M(); m.Kernel != Plain && !o.Count.Latent() && o.N <= float64(c) {
				return fmt.Errorf("%s: %d columns need more than %d rows, and the release has n = %g: the law of their scatter has no density; infer a smaller model by --formula", m.Name(), c, c, o.N)
			}
			return m.check(o)
		})
	}
	obs, err := p.Single()
	if err != nil {
		return nil, err
	}
	if err := m.check(obs); err != nil {
		return nil, err
	}
	law, err := m.fixedLaw(obs, p.Prior)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name(), err)
	}
	return m.fixed(obs, p.Prior.OfRows(obs.N), law), nil
}

// check refuses kernels that there are not, and several measurements of a sum.
func (m Method) check(obs *model.Observation) error {
	switch m.Kernel {
	case Exact, Plain, "":
		return obs.Once("a method gibbs-ss-")
	}
	return fmt.Errorf("%s: unknown kernel %q: %q or %q", m.Name(), m.Kernel, Exact, Plain)
}

// fixedLaw is the law of the statistics of Prior and Noisy.
func (m Method) fixedLaw(obs *model.Observation, prior *model.Prior) (*model.FixedMoments, error) {
	moments := prior.XMoments
	if m.Moments == Noisy {
		if obs.Moments == nil {
			return nil, errors.New("the release holds no moments of the covariates of degree 3 and 4: make one with --with-moments, or take gibbs-ss-update")
		}
		moments = obs.Moments.XMoments
	}
	x, err := moments()
	if err != nil {
		return nil, err
	}
	return model.NewFixedMoments(obs.Shape, x)
}

// run is a problem as a method reads it.
type run struct {
	names []string
	rows  float64                            // the fewest of a release
	start func(*rand.Rand) mcmc.Kernel[Info] // a chain

	law      *model.FixedMoments // of Prior and Noisy
	warnings []string            // of it
}

func (m Method) hierarchical(p *model.Joint) *run {
	r := &run{names: p.Names(), rows: math.Inf(1)}
	if m.Kernel != Plain {
		r.start = func(rng *rand.Rand) mcmc.Kernel[Info] { return newExactSites(p, rng) }
		return r
	}
	r.start = func(rng *rand.Rand) mcmc.Kernel[Info] { return newPlain(newSites(p, rng)) }
	for _, s := range p.Sites {
		r.rows = min(r.rows, s.N)
	}
	return r
}

func (m Method) fixed(obs *model.Observation, prior *model.Prior, law *model.FixedMoments) *run {
	r := &run{names: obs.RegressionNames(), rows: obs.N, law: law, warnings: m.fixedWarnings(obs, prior, law)}
	r.start = func(rng *rand.Rand) mcmc.Kernel[Info] {
		source := newFixed(prior, law)
		if m.Kernel != Plain {
			return newCLT(obs, prior, source, rng)
		}
		c := newState(obs, prior, source, model.NewRegressionParams(obs.Shape))
		c.start(rng)
		return newPlain(c)
	}
	return r
}

// Sample draws from the posterior. Draws are in scaled units, named of Update by
// model.Joint.Names, else by model.Shape.RegressionNames, and n where it is latent.
func (m Method) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	r, err := m.read(p)
	if err != nil {
		return nil, err
	}
	return m.sample(ctx, r, plan)
}

// sample runs the chains and says what a reader of the draws should know.
func (m Method) sample(ctx context.Context, r *run, plan mcmc.Plan) (*posterior.Draws, error) {
	if err := m.Traits().Check(m.Name(), plan); err != nil {
		return nil, err
	}
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) { return r.start(rng), nil }
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: r.names, Info: InfoNames}, start, keep, plan)
	if draws != nil {
		draws.Warnings = append(append(draws.Warnings, m.warnings(r, draws)...), r.warnings...)
	}
	return draws, err
}

// Info is what one sweep did beside moving the state.
type Info struct {
	transition
	Correction float64 // acceptance probability of s′, the mean over releases
	Projected  bool    // the plain kernel projected s
	Failed     bool    // rounding left a matrix indefinite: a step was skipped
}

// InfoNames names the columns that Sample keeps of an Info, in Stan's manner.
var InfoNames = []string{"lp__", "accept_stat__", "n_leapfrog__", "divergent__", "correction__", "projected__", "failed__"}

func keep(i Info, dst []float64) {
	copy(dst, []float64{i.logDensity, i.accept, float64(i.leapfrogs), number.Indicator[float64](i.divergent), i.Correction,
		number.Indicator[float64](i.Projected), number.Indicator[float64](i.Failed)})
}

// smallest is the number of rows below which the CLT is a poor description of
// the statistics.
const smallest = 30

// manyDivergences is the share of diverging trajectories that is told. Few do no
// harm: they come from a small ω, at which the metric is too wide; the move is
// refused, and the next draw of ω ends it.
const manyDivergences = 0.05

// warnings tells what a reader of the posterior should know.
func (m Method) warnings(r *run, d *posterior.Draws) (w []string) {
	if r.rows < smallest {
		w = append(w, fmt.Sprintf("n = %g is below %d: the normal approximation of the statistics is poor there", r.rows, smallest))
	}
	if m.Kernel == Plain {
		w = append(w, "kernel plain is the sampler as published: its conditionals are not those of one joint law, so its draws are near the posterior's, not from it")
	}
	if share := d.InfoMean("divergent__"); share > manyDivergences {
		w = append(w, fmt.Sprintf("%.2g %% of the trajectories diverged: the chains may mix badly; look at the effective sample sizes", 100*share))
	}
	for _, c := range []struct{ column, what string }{
		{"projected__", "of the sweeps drew statistics that no data could have, and projected them"},
		{"failed__", "of the sweeps skipped a step because rounding left a matrix indefinite"},
	} {
		if share := d.InfoMean(c.column); share > 0 {
			w = append(w, fmt.Sprintf("%.2g %% %s", 100*share, c.what))
		}
	}
	return w
}

// inConflict is the distance, in standard deviations, between sums of covariates and
// what their moments say that is told. A sum with Laplace noise alone goes
// beyond it with probability 2e-4.
const inConflict = 6

// fixedWarnings tells where moments that are taken for known cannot be.
func (m Method) fixedWarnings(obs *model.Observation, prior *model.Prior, law *model.FixedMoments) (w []string) {
	sd := func(i int) float64 { return math.Sqrt(obs.Variance(i)) }
	if far := law.Conflict(obs.Z, obs.N, sd, math.Sqrt2*obs.Count.Scale); far > inConflict {
		w = append(w, fmt.Sprintf("the release's sums of covariates lie up to %.0f standard deviations from what the moments that %s takes for known make of them: these are not the moments of its rows, and the posterior is wrong with them; take gibbs-ss-update, or state another law of the covariates", far, m.Name()))
	}
	switch {
	case m.Moments == Noisy:
		w = append(w, m.Name()+" takes the noisy moments of the covariates for exact: its intervals are too narrow wherever the noise matters")
	case prior.X == nil:
		w = append(w, m.Name()+` takes the moments of the covariates for known, and the prior states no "x": those of a normal law serve, with the mean of the covariates' prior and the mean of its T`)
	}
	return w
}
