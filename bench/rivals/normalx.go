package rivals

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
)

// normalX is the chain of NormalX. A sweep is
//
//	Σ | S_j                    inverse Wishart, after its prior's free scales given Σ
//	S_j | Σ, θ, σ², Ŝ_j, ẑ_j    by Metropolis–Hastings
//	θ | S_j, σ², ẑ_j           normal
//	σ² | S_j, θ, ẑ_j           by Metropolis
//
// Where the covariates' law is shared, as in the paper, all parties have one Σ; else
// each has its own, from the same prior.
type normalX struct {
	*regression
	groups []*group
	last   Info
}

func newNormalX(parties []*party, prior *model.Prior, shared bool, rng *rand.Rand) (*normalX, error) {
	k := &normalX{regression: newRegression(parties, prior, rng)}
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

// Step does one sweep.
func (k *normalX) Step(rng *rand.Rand) Info {
	info := Info{}
	for _, g := range k.groups {
		if !g.drawSigma(rng) {
			info.failed = true
			continue
		}
		for _, w := range g.moves {
			w.accepted = w.step(g.precision, k.theta, k.sigma2, rng)
			info.acceptS += w.accepted / float64(len(k.parties))
		}
	}
	k.move(&info, rng)
	k.last = info
	return info
}

// Adapt is called by the driver after each warm-up step.
func (k *normalX) Adapt(iteration, warmup int) {
	done := iteration == warmup-1
	k.adapt(k.last.accept, done)
	for _, g := range k.groups {
		for _, w := range g.moves {
			if w.size.Update(w.accepted); done {
				w.size.Settle()
			}
		}
	}
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
