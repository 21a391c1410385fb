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
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
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
	columns := mcmc.Columns{Params: joint.Shape.RegressionNames(), Info: []string{"accept_stat__", "failed__"}}
	begin := func(_ int, rng *rand.Rand) (mcmc.Kernel[Info], error) {
		return m.newChain(parties, joint.Prior, joint.Shared, rng)
	}
	draws, err := mcmc.Run(ctx, columns, begin, keep, plan)
	if draws == nil {
		return nil, err
	}
	if n := floats.Sum(slices.Concat(nuts.InfoColumn(draws, "failed__")...)); n > 0 {
		draws.Warnings = append(draws.Warnings, fmt.Sprintf("%.0f sweeps skipped a step because rounding left a matrix indefinite", n))
	}
	return draws, err
}

// Info is what one sweep did beside moving the state.
type Info struct {
	accept float64 // probability that the move of σ² was accepted
	failed bool    // rounding left a matrix indefinite: a step was skipped
}

// keep writes what Sample keeps of an Info.
func keep(i Info, dst []float64) {
	dst[0], dst[1] = i.accept, number.Indicator[float64](i.failed)
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

func (m Method) newChain(parties []*party, prior *model.Prior, shared bool, rng *rand.Rand) (*chain, error) {
	k := &chain{regression: newRegression(parties, prior, rng)}
	for i, t := range k.parties {
		if m.fixed {
			raised(t.s, t.xx, t.p, 0)
			continue
		}
		if i == 0 || !shared {
			k.groups = append(k.groups, newGroup(prior, t.p))
		}
		g := k.groups[len(k.groups)-1]
		g.rows += t.n
		g.moves = append(g.moves, newMove(t, rng))
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

// move moves S of a party by Metropolis–Hastings with the proposal
// S' ~ Wishart(S/α, α), whose mean is S.
type move struct {
	*latent
	size     nuts.StepSize // 1/√(α − p + 1), about the relative size of a step
	accepted float64       // probability at the last step

	root           []float64 // lower triangular L, zeros above, with S = LLᵀ
	proposal, next []float64 // S' and its L
	a, inverse     []float64 // A with S' = L AAᵀ Lᵀ/α, and A⁻¹
}

// acceptS is the acceptance that the paper tunes α_j to.
const acceptS = 0.1

// newMove starts S at Ŝ less noise drawn anew, with eigenvalues that the noise hides
// raised to its size.
func newMove(t *latent, rng *rand.Rand) *move {
	p := t.p
	square := func() []float64 { return make([]float64, p*p) }
	w := &move{latent: t, size: nuts.StepSize{Target: acceptS},
		root: square(), proposal: square(), next: square(), a: square(), inverse: square()}
	least := 0.0
	for j := range p {
		for k := range j + 1 {
			w.proposal[j*p+k] = t.xx[j*p+k] - t.sdXX[j*p+k]*rng.NormFloat64()
		}
		least = math.Max(least, t.sdXX[j*p+j])
	}
	raised(t.s, w.proposal, p, least)
	copy(w.root, t.s)
	dense.Cholesky(w.root, p)
	for j := range p {
		clear(w.root[j*p+j+1 : (j+1)*p])
	}
	w.size.Restart(1/math.Sqrt(t.n), 1/math.Sqrt(t.n))
	return w
}

// step moves S given Σ⁻¹, θ and σ², and returns the probability with which the move
// was accepted. The target is
//
//	N(ẑ; Sθ, σ²S + D) |S|^{(n−p−1)/2} exp(−½ tr Σ⁻¹S) Π_{j≤k} N(ŝ_jk; s_jk, sd_jk²).
//
// With S = LLᵀ and AAᵀ ~ Wishart(I, α), S' = LAAᵀLᵀ/α, the proposal's ratio is
//
//	log q(S | S') − log q(S' | S) = −(α − ½(p+1)) log(|S'|/|S|) + ½‖A‖² − ½α²‖A⁻¹‖²,
//
// for tr S⁻¹S' = ‖A‖²/α and tr S'⁻¹S = α‖A⁻¹‖².
func (w *move) step(precision, theta []float64, sigma2 float64, rng *rand.Rand) float64 {
	p, size := w.p, w.size.Value()
	alpha := float64(p-1) + 1/(size*size)
	variate.WishartFactor(w.a, p, alpha, rng)
	dense.TransposeTo(w.proposal, w.a, p)
	dense.MulABtLower(w.next, w.root, dense.Lower, w.proposal, dense.Upper, p)
	floats.Scale(1/math.Sqrt(alpha), w.next)
	dense.LLt(w.proposal, w.next, p)
	dense.InvertLower(w.inverse, w.a, p)
	if !w.factor(&w.other, w.proposal, sigma2) {
		return 0
	}
	w.evaluate(&w.other, w.proposal, theta)
	grown := dense.LogDet(w.a, p) - float64(p)*math.Log(alpha) // log |S'|/|S|
	ratio := w.other.logDensity - w.given.logDensity +
		0.5*(w.n-float64(p+1))*grown + w.logNear(w.proposal, precision) - w.logNear(w.s, precision) -
		(alpha-0.5*float64(p+1))*grown + 0.5*floats.Dot(w.a, w.a) - 0.5*alpha*alpha*floats.Dot(w.inverse, w.inverse)
	if rng.Float64() < math.Exp(ratio) {
		w.accept()
		w.s, w.proposal = w.proposal, w.s
		w.root, w.next = w.next, w.root
	}
	return math.Min(1, math.Exp(ratio))
}

// logNear is −½ tr Σ⁻¹S − ½ Σ_{j≤k} ((ŝ_jk − s_jk)/sd_jk)².
func (w *move) logNear(s, precision []float64) float64 {
	p, sum := w.p, floats.Dot(s, precision)
	for j := range p {
		for i := j * (p + 1); i < (j+1)*p; i++ {
			u := (w.xx[i] - s[i]) / w.sdXX[i]
			sum += u * u
		}
	}
	return -0.5 * sum
}

// group is a Σ with the parties that have it.
type group struct {
	mixture   *model.Mixture
	drawn     bool // Σ has been
	rows      float64
	moves     []*move
	scale     []float64 // Ψ + Σ S_j, then its Cholesky factor
	factor    []float64 // of Σ
	sigma     []float64 // Σ
	precision []float64 // Σ⁻¹
	work      []float64
}

func newGroup(prior *model.Prior, p int) *group {
	square := func() []float64 { return make([]float64, p*p) }
	return &group{mixture: model.NewMixture(prior), scale: square(), factor: square(), sigma: square(), precision: square(), work: make([]float64, p)}
}

// drawSigma draws Σ ~ InvWishart(Ψ + Σ S_j, ν + Σ n_j); false where rounding leaves
// that scale indefinite.
func (g *group) drawSigma(rng *rand.Rand) bool {
	p, x := len(g.work), g.mixture.Covariates
	if g.drawn && !g.mixture.DrawCovariates(g.sigma, rng) {
		return false
	}
	copy(g.scale, x.Scale)
	for _, w := range g.moves {
		for i, v := range w.s {
			g.scale[i] += v
		}
	}
	if !dense.Cholesky(g.scale, p) {
		return false
	}
	variate.InverseWishartFactor(g.factor, g.scale, p, x.Dof+g.rows, g.work, rng)
	dense.InverseFromCholesky(g.precision, g.factor, p)
	dense.LLt(g.sigma, g.factor, p)
	g.drawn = true
	return true
}
