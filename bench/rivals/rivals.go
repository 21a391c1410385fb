// Package rivals has the methods that Alparslan, Yıldırım & Birbil (2023,
// "Differentially private distributed Bayesian linear regression with MCMC", ICML)
// give for J parties of whose rows S = XᵀX and z = Xᵀy are released with Gaussian
// noise, and yᵀy is not. There is no intercept, and the covariates have mean zero:
//
//	x ~ N(0, Σ)                        S_j | Σ ~ Wishart(Σ, n_j)
//	y | x ~ N(θᵀx, σ²)                 z_j | S_j ~ N(S_jθ, σ²S_j)
//	Ŝ_j = S_j + noise, ẑ_j = z_j + noise;   ẑ_j | S_j ~ N(S_jθ, σ²S_j + D_j),
//
// the last with z_j integrated out and D_j the covariance of ẑ_j's noise. Of a release
// with more in it, Σx, Σy and Σy², they look at nothing else.
//
// They are here to be compared with; README.md says where they are right, and
// how the prior, the problem's as for any other method, differs from the paper's.
package rivals

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// Method is one of theirs.
type Method struct {
	fixed bool
}

// NormalX is the method that has S_j latent: Σ and S_j are drawn with θ and σ². FixedS takes
// the nearest positive semidefinite matrix to Ŝ_j for S_j: fast, and wrong by what the noise on
// S_j hides.
var NormalX, FixedS = Method{}, Method{fixed: true}

// Name returns the method's name.
func (m Method) Name() string {
	if m.fixed {
		return "fixeds"
	}
	return "normalx"
}

// Traits are of a method whose law of the covariates, where it has one, draws leave out.
func (m Method) Traits() model.Traits {
	if m.fixed {
		return model.Traits{Warmup: model.AdaptiveWarmup}
	}
	return model.Traits{Warmup: model.AdaptiveWarmup, Covariates: model.HiddenCovariates}
}

// Can refuses what the model is not of: a release with an intercept, Laplace noise, a noisy
// number of rows or fewer rows than covariates, partial pooling.
func (m Method) Can(p *model.Problem) error {
	_, _, err := read(m.Name(), p)
	return err
}

// Sample draws from the posterior of θ and σ², which the draws are named for by
// Shape.RegressionNames.
func (m Method) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	joint, parties, err := read(m.Name(), p)
	if err != nil {
		return nil, err
	}
	if err := m.Traits().Check(m.Name(), plan); err != nil {
		return nil, err
	}
	columns := mcmc.Columns{Params: joint.Shape.RegressionNames(), Info: infoNames}
	begin := func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) {
		if m.fixed {
			return newFixedS(parties, joint.Prior, rng)
		}
		return newNormalX(parties, joint.Prior, joint.Shared, rng)
	}
	draws, err := mcmc.Run(ctx, columns, begin, keep, plan)
	if n := failures(draws); n > 0 {
		draws.Warnings = append(draws.Warnings, fmt.Sprintf("%d sweeps skipped a step because rounding left a matrix indefinite", n))
	}
	return draws, err
}

// Info is what one sweep did beside moving the state.
type Info struct {
	accept float64 // probability that the move of σ² was accepted
	failed bool    // rounding left a matrix indefinite: a step was skipped
}

// infoNames names the columns that Sample keeps of an Info, in Stan's manner.
var infoNames = []string{"accept_stat__", "failed__"}

func keep(i Info, dst []float64) {
	dst[0], dst[1] = i.accept, 0
	if i.failed {
		dst[1] = 1
	}
}

// failures counts the sweeps that failed; draws may be nil.
func failures(draws *posterior.Draws) (n int) {
	if draws == nil {
		return 0
	}
	for _, info := range draws.Info {
		for i := 1; i < len(info); i += len(infoNames) {
			n += int(info[i])
		}
	}
	return n
}

// chain is that of NormalX. A sweep is
//
//	Σ | S_j                    inverse Wishart, after its prior's free scales given Σ
//	S_j | Σ, θ, σ², Ŝ_j, ẑ_j    by Metropolis–Hastings
//	θ | S_j, σ², ẑ_j           normal
//	σ² | S_j, θ, ẑ_j           by Metropolis
//
// Where the covariates' law is shared, as in the paper, all parties have one Σ; else
// each has its own, from the same prior. That of FixedS has no groups, and the last two steps
// alone.
type chain struct {
	*regression
	groups []*group
	last   Info
}

func newNormalX(parties []*party, prior *model.Prior, shared bool, rng *rand.Rand) (*chain, error) {
	k := &chain{regression: newRegression(parties, prior, rng)}
	for i, t := range k.parties {
		if i == 0 || !shared {
			k.groups = append(k.groups, newGroup(prior, t.p))
		}
		g := k.groups[len(k.groups)-1]
		g.rows += t.n
		g.moves = append(g.moves, newMove(t, rng))
	}
	return k, k.start(rng)
}

func newFixedS(parties []*party, prior *model.Prior, rng *rand.Rand) (*chain, error) {
	k := &chain{regression: newRegression(parties, prior, rng)}
	for _, t := range k.parties {
		raised(t.s, t.xx, t.p, 0)
	}
	return k, k.start(rng)
}

// Step does one sweep.
func (k *chain) Step(rng *rand.Rand) Info {
	k.last = Info{}
	for _, g := range k.groups {
		if !g.drawSigma(rng) {
			k.last.failed = true
			continue
		}
		for _, w := range g.moves {
			w.accepted = w.step(g.precision, k.theta, k.sigma2, rng)
		}
	}
	k.move(&k.last, rng)
	return k.last
}

// Adapt is called by the driver after each warm-up step.
func (k *chain) Adapt(iteration, warmup int) {
	adapt(&k.step, k.last.accept, iteration == warmup-1)
	for _, g := range k.groups {
		for _, w := range g.moves {
			adapt(&w.size, w.accepted, iteration == warmup-1)
		}
	}
}
