package model

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// Hierarchy draws the parameters of partially pooled regressions given all statistics,
//
//	θ, σ² ~ Prior   Ω, υ ~ Spread   θ_j ~ N(θ, Ω)   log σ_j ~ N(log σ, υ²)
//	y ~ N(θ_jᵀ(1, x), σ_j²) at custodian j,
//
// in blocks, of which each leaves the law given the statistics invariant:
//
//	a           | θ, σ²            the prior's free scales, see Mixture; all below is given a
//	Ω           | σ², all σ_j      each coordinate by slice sampling, θ and all θ_j integrated out
//	θ           | Ω, σ², all σ_j   normal, all θ_j integrated out
//	θ_j         | θ, Ω, σ_j        normal
//	σ², υ, σ_j  | θ, all θ_j       see scales
//
// The second to fourth are a draw of (Ω, θ, all θ_j) given the scales by the chain rule.
// Integrated out so, neither θ nor Ω is held by θ_j: it mixes where the statistics tell much
// of θ_j and where they tell little, and needs no second parametrisation.
//
// A Hierarchy holds a workspace, so each chain needs its own; Step does not allocate.
type Hierarchy struct {
	Centre []float64   // (θ, log σ²)
	Theta  []float64   // θ, a part of it
	Phi    []float64   // Ω and υ, in the coordinates of Spread
	At     [][]float64 // w_j = (θ_j, log σ_j²)
	Spread *Spread     // at Phi
	Root   []float64   // B, Cov w_j = BBᵀ, lower triangular, at Phi

	mixture  *Mixture
	prior    *conjugate.NIG // given free scales
	sites    []*gramRoot
	sums     *Sums
	scales   *scales
	block    []float64      // the part of B that is a root of Ω, q×q
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
	mixture := NewMixture(prior)
	h := &Hierarchy{Centre: vec(q + 1), Spread: NewSpread(q, nil), mixture: mixture, prior: mixture.Theta, sums: NewSums(s),
		Root: vec((q + 1) * (q + 1)), block: vec(q * q), chol: vec(q * q), mean: vec(q), deviates: vec(q), space: newSiteSpace(q)}
	h.Theta, h.Phi, h.unused = h.Centre[:q], vec(h.Spread.Dim()), vec(h.Spread.Dim())
	h.density = h.marginal
	for range custodians {
		h.At, h.sites = append(h.At, vec(q+1)), append(h.sites, newGramRoot(q))
	}
	h.scales = newScales(h)
	return h
}

// Start draws σ² from the prior at typical free scales, for every σ_j² too, and the spread from about its prior.
// Step draws the others anew.
func (h *Hierarchy) Start(rng *rand.Rand) {
	q := len(h.Theta)
	h.Centre[q] = math.Log(variate.InverseGamma(h.prior.Shape, h.prior.Scale, rng))
	for _, at := range h.At {
		at[q] = h.Centre[q]
	}
	h.Spread.Start(h.Phi, rng)
	h.setRoot()
}

// Take takes (θ, log σ²) and the coordinates of Spread.
func (h *Hierarchy) Take(centre, phi []float64) {
	copy(h.Centre, centre)
	copy(h.Phi, phi)
	h.setRoot()
}

// sigma2 is σ_j².
func (h *Hierarchy) sigma2(j int) float64 { return math.Exp(h.At[j][len(h.Theta)]) }

// Observe takes the statistics of custodian j, canonical order and common units, of n
// rows. It reports false where they are not finite.
func (h *Hierarchy) Observe(j int, s []float64, n float64) bool {
	h.sums.Set(s, n)
	return h.sites[j].set(h.sums, n)
}

// Step draws all parameters once. It reports false where rounding leaves a matrix
// indefinite.
func (h *Hierarchy) Step(rng *rand.Rand) bool {
	h.mixture.DrawRegression(h.Theta, math.Exp(h.Centre[len(h.Theta)]), false, rng)
	return h.drawSpread(rng) && h.drawTheta(rng) && h.drawSites(rng) && h.scales.draw(rng)
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
		if i == len(h.Theta) { // υ, see scales
			continue
		}
		present = slice(h.density, &h.Phi[i], present, spreadWidth, rng)
	}
	return true
}

// marginal returns log p(Ω | σ², all σ_j, s) in the coordinates Phi, up to a constant, and
// leaves in chol and mean the law of θ given Ω and the scales. With the rows of gramRoot and
// B a root of Ω,
//
//	ỹ_j = X̃_j(θ + Bη_j) + σ_jε,   A_j = X̃_jB/σ_j,   I + A_jA_jᵀ = L_jL_jᵀ,
//	T_j = L_j⁻¹X̃_j/σ_j,   u_j = L_j⁻¹ỹ_j/σ_j:   u_j ~ N(T_jθ, I),
//	P = Λ₀/c + ΣT_jᵀT_j,   b = Λ₀μ₀/c + ΣT_jᵀu_j,   θ | … ~ N(P⁻¹b, P⁻¹),
//	log p(Ω | …) = log p(Ω) − Σ log|L_j| − ½ log|P| − ½(Σ|u_j|² − bᵀP⁻¹b).
//
// c = 1 where the prior is Unscaled, else σ².
// Nothing is inverted that may be singular: neither XᵀX, which projected statistics
// leave so, nor Ω near 0.
func (h *Hierarchy) marginal() float64 {
	q := len(h.Theta)
	h.setRoot()
	c := h.mixture.prior.Factor(math.Exp(h.Centre[q]))
	logp := h.Spread.LogPrior(h.unused, h.Phi)
	dense.SymMulVec(h.mean, h.prior.Precision, q, h.prior.Mean)
	for k := range q {
		h.mean[k] /= c
	}
	for i, v := range h.prior.Precision {
		h.chol[i] = v / c
	}
	for j, s := range h.sites {
		logp += h.space.whiten(s, h.block, h.sigma2(j), h.chol, h.mean)
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
	q := len(h.Theta)
	for k := range q {
		copy(h.block[k*q:(k+1)*q], h.Root[k*(q+1):])
	}
}

func (h *Hierarchy) drawTheta(rng *rand.Rand) bool {
	if math.IsNaN(h.marginal()) {
		return false
	}
	drawNormal(h.Theta, h.mean, h.chol, rng)
	return true
}

// drawSites draws each θ_j = θ + Bη_j.
func (h *Hierarchy) drawSites(rng *rand.Rand) bool {
	q := len(h.Theta)
	for j, s := range h.sites {
		if !h.space.draw(h.deviates, s, h.block, h.Theta, h.sigma2(j), rng) {
			return false
		}
		dense.MulLowerVec(h.At[j][:q], h.block, q, h.deviates)
		floats.Add(h.At[j][:q], h.Theta)
	}
	return true
}

// WriteShared writes θ and σ², and returns the number written.
func (h *Hierarchy) WriteShared(dst []float64) int {
	at := copy(dst, h.Theta)
	dst[at] = math.Exp(h.Centre[at])
	return at + 1
}

// Write writes the spread and every θ_j and σ_j, as Joint.Names has them, and returns the
// number written.
func (h *Hierarchy) Write(dst []float64) int {
	q, at := len(h.Theta), h.Spread.Write(dst)
	for _, own := range h.At {
		at += copy(dst[at:], own[:q])
		dst[at] = math.Exp(0.5 * own[q])
		at++
	}
	return at
}

// siteSpace is the space for one custodian's part of a Hierarchy's steps.
type siteSpace struct {
	q    int
	a, t []float64 // A and, row by row of its transpose, T; (q+1)×q and q×(q+1)
	chol []float64 // L, (q+1)×(q+1)
	u    []float64
}

func newSiteSpace(q int) *siteSpace {
	k := q + 1
	vec := func(n int) []float64 { return make([]float64, n) }
	return &siteSpace{q: q, a: vec(k * q), t: vec(q * k), chol: vec(k * k), u: vec(k)}
}

// factor takes A = X̃B/σ and L, LLᵀ = I + AAᵀ.
func (w *siteSpace) factor(g *gramRoot, root []float64, sigma float64) bool {
	q, k := w.q, w.q+1
	for i := range k {
		row, x := w.a[i*q:(i+1)*q], g.x[i*q:(i+1)*q]
		dense.MulLowerTVec(row, root, q, x)
		for l := range row {
			row[l] /= sigma
		}
	}
	for i := range k {
		for j := range i + 1 {
			w.chol[i*k+j] = dense.Dot(w.a[j*q:(j+1)*q], w.a[i*q:])
		}
		w.chol[i*k+i]++
	}
	return dense.Cholesky(w.chol, k)
}

// whiten adds TᵀT and Tᵀu to precision, its lower triangle, and linear, and returns
// −log|L| − ½|u|²; see Hierarchy.marginal. It is NaN where numbers are not finite.
func (w *siteSpace) whiten(g *gramRoot, root []float64, sigma2 float64, precision, linear []float64) float64 {
	q, k, sigma := w.q, w.q+1, math.Sqrt(sigma2)
	if !w.factor(g, root, sigma) {
		return math.NaN()
	}
	for i, y := range g.y {
		w.u[i] = y / sigma
		for l := range q {
			w.t[l*k+i] = g.x[i*q+l] / sigma
		}
	}
	dense.SolveLower(w.chol, k, w.u)
	for l := range q {
		row := w.t[l*k : (l+1)*k]
		dense.SolveLower(w.chol, k, row)
		for i, v := range w.u {
			linear[l] += row[i] * v
		}
		for h := range l + 1 {
			precision[l*q+h] += dense.Dot(row, w.t[h*k:])
		}
	}
	return -0.5 * (dense.LogDet(w.chol, k) + dense.Dot(w.u, w.u))
}

// draw draws η of θ_j = θ + Bη from its law given θ, B and σ², that of η standard normal
// and ỹ/σ = X̃θ/σ + Aη + ε: with η̃ and ε̃ from there,
//
//	η = η̃ + Aᵀ(I + AAᵀ)⁻¹(ỹ/σ − X̃θ/σ − Aη̃ − ε̃).
//
// That is N(θ, Ω) times the regression's N, of precision Ω⁻¹ + XX/σ² in θ_j, without an
// inverse of Ω.
func (w *siteSpace) draw(eta []float64, g *gramRoot, root, theta []float64, sigma2 float64, rng *rand.Rand) bool {
	q, k, sigma := w.q, w.q+1, math.Sqrt(sigma2)
	if !w.factor(g, root, sigma) {
		return false
	}
	variate.Normals(eta[:q], 1, rng)
	for i, y := range g.y {
		e := y
		for l, v := range theta {
			e -= g.x[i*q+l] * v
		}
		e = e/sigma - rng.NormFloat64()
		for l, v := range eta {
			e -= w.a[i*q+l] * v
		}
		w.u[i] = e
	}
	dense.Solve(w.chol, k, w.u)
	for i, v := range w.u {
		for l := range q {
			eta[l] += w.a[i*q+l] * v
		}
	}
	return true
}

// gramRoot is the regression of one custodian as q + 1 rows (X̃, ỹ) that have its sums,
//
//	[X̃ ỹ]ᵀ[X̃ ỹ] = [XX XY; XYᵀ YY] = VΛVᵀ,   row k: √λ_k times column k of V,
//
// so that |ỹ − X̃θ|² = YY − 2θᵀXY + θᵀXXθ for every θ, and no such sum is negative. The
// matrix is positive semidefinite, as that of some data is; an eigenvalue that rounding
// leaves below 0 is 0.
type gramRoot struct {
	q    int
	x, y []float64 // (q+1)×q and q+1
	n    float64   // rows of the custodian

	border bool // the sums lie at the border of what so many rows can have

	gram, vectors, work []float64
	values              []float64
}

// borderShare is the least eigenvalue, as a share of the greatest, of sums that are not at
// the border, where projection leaves them.
const borderShare = 1e-10

func newGramRoot(q int) *gramRoot {
	k := q + 1
	vec := func(n int) []float64 { return make([]float64, n) }
	return &gramRoot{q: q, x: vec(k * q), y: vec(k), gram: vec(k * k), vectors: vec(k * k), work: vec(k * k), values: vec(k)}
}

// set takes the rows of sums; it reports false where these are not finite.
func (g *gramRoot) set(t *Sums, n float64) bool {
	q, k := g.q, g.q+1
	t.gram(g.gram)
	g.n = n
	if !dense.SymEigen(g.values, g.vectors, g.gram, k, g.work) {
		return false
	}
	g.border = n > float64(q) && g.values[0] <= borderShare*g.values[q] // ascending
	for i, v := range g.values {
		root := math.Sqrt(math.Max(0, v))
		for l := range q {
			g.x[i*q+l] = root * g.vectors[l*k+i]
		}
		g.y[i] = root * g.vectors[q*k+i]
	}
	return true
}

// residual returns |ỹ − X̃θ|².
func (g *gramRoot) residual(theta []float64) (sum float64) {
	for i, e := range g.y {
		for l, v := range theta {
			e -= g.x[i*g.q+l] * v
		}
		sum += e * e
	}
	return sum
}
