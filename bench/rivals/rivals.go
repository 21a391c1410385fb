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

// NormalX is the method that has S_j latent: Σ and S_j are drawn with θ and σ².
type NormalX struct{}

// Name returns the method's name.
func (NormalX) Name() string { return "normalx" }

// Traits are of a method whose law of the covariates draws leave out.
func (NormalX) Traits() model.Traits {
	return model.Traits{Warmup: model.AdaptiveWarmup, Covariates: model.HiddenCovariates}
}

// Can refuses what the model is not of: a release with an intercept, Laplace noise, a noisy
// number of rows or fewer rows than covariates, partial pooling.
func (m NormalX) Can(p *model.Problem) error {
	_, _, err := read(m.Name(), p)
	return err
}

// Sample draws from the posterior of θ and σ², which the draws are named for by
// Shape.RegressionNames.
func (m NormalX) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	return sample(ctx, m.Name(), p, plan, func(t *model.Joint, parties []*party, rng *rand.Rand) (mcmc.Kernel[Info], error) {
		return newNormalX(parties, t.Prior, t.Shared, rng)
	})
}

// FixedS is the method that takes the nearest positive semidefinite matrix to Ŝ_j for
// S_j: fast, and wrong by what the noise on S_j hides.
type FixedS struct{}

// Name returns the method's name.
func (FixedS) Name() string { return "fixeds" }

// Traits are of a method without a law of the covariates.
func (FixedS) Traits() model.Traits { return model.Traits{Warmup: model.AdaptiveWarmup} }

// Can is NormalX.Can.
func (m FixedS) Can(p *model.Problem) error {
	_, _, err := read(m.Name(), p)
	return err
}

// Sample is NormalX.Sample for FixedS. A warning says that it is an approximation.
func (m FixedS) Sample(ctx context.Context, p *model.Problem, plan mcmc.Plan) (*posterior.Draws, error) {
	draws, err := sample(ctx, m.Name(), p, plan, func(t *model.Joint, parties []*party, rng *rand.Rand) (mcmc.Kernel[Info], error) {
		return newFixedS(parties, t.Prior, rng)
	})
	if draws != nil {
		draws.Warnings = append(draws.Warnings, "fixeds takes the noisy sums of x xᵀ, projected, for exact ones: its intervals are too narrow where their noise matters")
	}
	return draws, err
}

// sample runs the chains that start makes.
func sample(ctx context.Context, method string, p *model.Problem, plan mcmc.Plan, start func(*model.Joint, []*party, *rand.Rand) (mcmc.Kernel[Info], error)) (*posterior.Draws, error) {
	joint, parties, err := read(method, p)
	if err != nil {
		return nil, err
	}
	if err := (FixedS{}).Traits().Check(method, plan); err != nil {
		return nil, err
	}
	columns := mcmc.Columns{Params: joint.Shape.RegressionNames(), Info: InfoNames}
	chain := func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) { return start(joint, parties, rng) }
	draws, err := mcmc.Run(ctx, columns, chain, keep, plan)
	if n := failures(draws); n > 0 {
		draws.Warnings = append(draws.Warnings, fmt.Sprintf("%d sweeps skipped a step because rounding left a matrix indefinite", n))
	}
	return draws, err
}

// failures counts the sweeps that failed; draws may be nil.
func failures(draws *posterior.Draws) (n int) {
	if draws == nil {
		return 0
	}
	width := len(InfoNames)
	for _, info := range draws.Info {
		for i := width - 1; i < len(info); i += width {
			n += int(info[i])
		}
	}
	return n
}

// Info is what one sweep did beside moving the state.
type Info struct {
	logDensity float64 // of the ẑ_j, given the rest
	accept     float64 // probability that the move of σ² was accepted
	acceptS    float64 // the mean of those of the S_j; 0 for FixedS
	failed     bool    // rounding left a matrix indefinite: a step was skipped
}

// InfoNames names the columns that Sample keeps of an Info, in Stan's manner.
var InfoNames = []string{"lp__", "accept_stat__", "accept_s__", "failed__"}

func keep(i Info, dst []float64) {
	dst[0], dst[1], dst[2], dst[3] = i.logDensity, i.accept, i.acceptS, 0
	if i.failed {
		dst[3] = 1
	}
}
