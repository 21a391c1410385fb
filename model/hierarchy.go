package model

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// Hierarchy draws the parameters of partially pooled regressions given all statistics,
//
//	θ, σ² ~ NIG   Ω ~ Spread   θ_j ~ N(θ, Ω)   y ~ N(θ_jᵀ(1, x), σ²) at custodian j,
//
// in blocks, of which each leaves the law given the statistics invariant:
//
//	Ω    | σ²             each coordinate by slice sampling, θ and all θ_j integrated out
//	θ    | Ω, σ²          normal, all θ_j integrated out
//	θ_j  | θ, Ω, σ²       normal
//	σ²   | θ, all θ_j     inverse gamma
//
// The first three are a draw of (Ω, θ, all θ_j) given σ² by the chain rule. Integrated out
// so, neither θ nor Ω is held by θ_j: it mixes where the statistics tell much of θ_j and
// where they tell little, and needs no second parametrisation.
//
// A Hierarchy holds a workspace, so each chain needs its own; Step does not allocate.
type Hierarchy struct {
	Theta  []float64
	Sigma2 float64
	Phi    []float64   // Ω, in the coordinates of Spread
	At     [][]float64 // θ_j
	Spread *Spread     // at Phi
	Root   []float64   // B, Ω = BBᵀ, lower triangular, at Phi

	prior    *conjugate.NIG
	sites    []*gramRoot
	sums     *Sums
	density  func() float64 // marginal, unless a test plants a fault
	unused   []float64      // a gradient
	chol     []float64      // of P
	mean     []float64      // b, then P⁻¹b
	deviates []float64
	space    *siteSpace
}

// NewHierarchy allocates for a shape and so many custodians.
func NewHierarchy(s Shape, prior *Prior, custodians int) *Hierarchy {
	q := s.Q()
	vec := func(n int) []float64 { return make([]float64, n) }
	h := &Hierarchy{Theta: vec(q), Spread: NewSpread(q), prior: prior.Theta, sums: NewSums(s),
		Root: vec(q * q), chol: vec(q * q), mean: vec(q), deviates: vec(q), space: newSiteSpace(q)}
	h.Phi, h.unused = vec(h.Spread.Dim()), vec(h.Spread.Dim())
	h.density = h.marginal
	for range custodians {
		h.At, h.sites = append(h.At, vec(q)), append(h.sites, newGramRoot(q))
	}
	return h
}

// Start draws σ² from the prior and Ω from about its prior. Step draws the others anew.
func (h *Hierarchy) Start(rng *rand.Rand) {
	h.Sigma2 = variate.InverseGamma(h.prior.Shape, h.prior.Scale, rng)
	h.Spread.Start(h.Phi, rng)
	h.setRoot()
}

// Take takes θ, σ² and Ω, the last by its coordinates.
func (h *Hierarchy) Take(theta []float64, sigma2 float64, phi []float64) {
	copy(h.Theta, theta)
	copy(h.Phi, phi)
	h.Sigma2 = sigma2
	h.setRoot()
}

// Observe takes the statistics of custodian j, canonical order and common units, of n
// rows. It reports false where they are not finite.
func (h *Hierarchy) Observe(j int, s []float64, n float64) bool {
	h.sums.Set(s, n)
	return h.sites[j].set(h.sums, n)
}

// Step draws all parameters once. It reports false where rounding leaves a matrix
// indefinite.
func (h *Hierarchy) Step(rng *rand.Rand) bool {
	return h.drawSpread(rng) && h.drawTheta(rng) && h.drawSites(rng) && h.drawSigma2(rng)
}

// spreadWidth is the first interval of slice sampling. The coordinates are about as wide
// where the prior decides, and narrower, by the root of the number of custodians, where
// these do.
const spreadWidth = 1

func (h *Hierarchy) drawSpread(rng *rand.Rand) bool {
	present := h.density()
	if math.IsNaN(present) || math.IsInf(present, 0) {
		return false
	}
	for i := range h.Phi {
		present = slice(h.density, &h.Phi[i], present, spreadWidth, rng)
	}
	return true
}

// marginal returns log p(Ω | σ², s) in the coordinates Phi, up to a constant, and leaves in
// chol and mean the law of θ given Ω and σ². With the rows of gramRoot and B a root of Ω,
//
//	ỹ_j = X̃_j(θ + Bη_j) + σε,   A_j = X̃_jB/σ,   I + A_jA_jᵀ = L_jL_jᵀ,
//	T_j = L_j⁻¹X̃_j/σ,   u_j = L_j⁻¹ỹ_j/σ:   u_j ~ N(T_jθ, I),
//	P = Λ₀/σ² + ΣT_jᵀT_j,   b = Λ₀μ₀/σ² + ΣT_jᵀu_j,   θ | Ω, σ² ~ N(P⁻¹b, P⁻¹),
//	log p(Ω | σ², s) = log p(Ω) − Σ log|L_j| − ½ log|P| − ½(Σ|u_j|² − bᵀP⁻¹b).
//
// Nothing is inverted that may be singular: neither XᵀX, which projected statistics
// leave so, nor Ω near 0.
func (h *Hierarchy) marginal() float64 {
	q := len(h.Theta)
	h.setRoot()
	logp := h.Spread.LogPrior(h.unused, h.Phi)
	dense.SymMulVec(h.mean, h.prior.Precision, q, h.prior.Mean)
	for k := range q {
		h.mean[k] /= h.Sigma2
	}
	for i, v := range h.prior.Precision {
		h.chol[i] = v / h.Sigma2
	}
	for _, s := range h.sites {
		logp += h.space.whiten(s, h.Root, h.Sigma2, h.chol, h.mean)
	}
	if !dense.Cholesky(h.chol, q) {
		return math.NaN()
	}
	dense.SolveLower(h.chol, q, h.mean)
	for _, v := range h.mean {
		logp += 0.5 * v * v
	}
	dense.SolveLowerT(h.chol, q, h.mean)
	return logp - 0.5*dense.LogDet(h.chol, q)
}

// setRoot takes B of Phi.
func (h *Hierarchy) setRoot() {
	h.Spread.Constrain(h.Phi)
	h.Spread.Root(h.Root)
}

func (h *Hierarchy) drawTheta(rng *rand.Rand) bool {
	if math.IsNaN(h.marginal()) {
		return false
	}
	q := len(h.Theta)
	for k := range q {
		h.deviates[k] = rng.NormFloat64()
	}
	dense.SolveLowerT(h.chol, q, h.deviates)
	for k, v := range h.mean {
		h.Theta[k] = v + h.deviates[k]
	}
	return true
}

// drawSites draws each θ_j = θ + Bη_j.
func (h *Hierarchy) drawSites(rng *rand.Rand) bool {
	q := len(h.Theta)
	for j, s := range h.sites {
		if !h.space.draw(h.deviates, s, h.Root, h.Theta, h.Sigma2, rng) {
			return false
		}
		dense.MulLowerVec(h.At[j], h.Root, q, h.deviates)
		for k, v := range h.Theta {
			h.At[j][k] += v
		}
	}
	return true
}

// drawSigma2 draws from
//
//	InvGamma(a₀ + ½(q + Σn_j), b₀ + ½(θ−μ₀)ᵀΛ₀(θ−μ₀) + ½Σ|ỹ_j − X̃_jθ_j|²).
func (h *Hierarchy) drawSigma2(rng *rand.Rand) bool {
	q := len(h.Theta)
	for k, v := range h.Theta {
		h.deviates[k] = v - h.prior.Mean[k]
	}
	shape := h.prior.Shape + 0.5*float64(q)
	scale := h.prior.Scale + 0.5*dense.QuadForm(h.prior.Precision, q, h.deviates)
	for j, s := range h.sites {
		shape += 0.5 * s.n
		scale += 0.5 * s.residual(h.At[j])
	}
	if !(scale > 0 && scale <= math.MaxFloat64) {
		return false
	}
	h.Sigma2 = variate.InverseGamma(shape, scale, rng)
	return true
}

// Write writes the upper triangle of Ω and every θ_j, as Joint.Names has them, and returns
// the number written.
func (h *Hierarchy) Write(dst []float64) int {
	at := h.Spread.Write(dst)
	for _, theta := range h.At {
		at += copy(dst[at:], theta)
	}
	return at
}
