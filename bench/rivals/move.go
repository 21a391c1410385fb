package rivals

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

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
	mulLower(w.next, w.root, w.a, p, 1/math.Sqrt(alpha))
	dense.LLt(w.proposal, w.next, p)
	dense.InvertLower(w.inverse, w.a, p)
	if !w.factor(&w.other, w.proposal, sigma2) {
		return 0
	}
	w.evaluate(&w.other, w.proposal, theta)
	grown := dense.LogDet(w.a, p) - float64(p)*math.Log(alpha) // log |S'|/|S|
	ratio := w.other.logDensity - w.given.logDensity +
		0.5*(w.n-float64(p+1))*grown + w.logNear(w.proposal, precision) - w.logNear(w.s, precision) -
		(alpha-0.5*float64(p+1))*grown + 0.5*dot(w.a, w.a) - 0.5*alpha*alpha*dot(w.inverse, w.inverse)
	if rng.Float64() < math.Exp(ratio) {
		w.accept()
		w.s, w.proposal = w.proposal, w.s
		w.root, w.next = w.next, w.root
	}
	return math.Min(1, math.Exp(ratio))
}

// logNear is −½ tr Σ⁻¹S − ½ Σ_{j≤k} ((ŝ_jk − s_jk)/sd_jk)².
func (w *move) logNear(s, precision []float64) float64 {
	p, sum := w.p, dot(s, precision)
	for j := range p {
		for i := j * (p + 1); i < (j+1)*p; i++ {
			u := (w.xx[i] - s[i]) / w.sdXX[i]
			sum += u * u
		}
	}
	return -0.5 * sum
}

// mulLower writes c·LA, of lower triangular L and A with zeros above.
func mulLower(dst, l, a []float64, p int, c float64) {
	clear(dst)
	for i := range p {
		for k := range i + 1 {
			f := c * l[i*p+k]
			for j := range k + 1 {
				dst[i*p+j] += f * a[k*p+j]
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
