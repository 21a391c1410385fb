package model

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
)

// siteSpace is the space for one custodian's part of a Hierarchy's steps.
type siteSpace struct {
	q    int
	a, t []float64 // A and, row by row of its transpose, T; (q+1)×q and q×(q+1)
	chol []float64 // L, (q+1)×(q+1)
	u    []float64
	eta  []float64
}

func newSiteSpace(q int) *siteSpace {
	k := q + 1
	vec := func(n int) []float64 { return make([]float64, n) }
	return &siteSpace{q: q, a: vec(k * q), t: vec(q * k), chol: vec(k * k), u: vec(k), eta: vec(q)}
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
			sum := 0.0
			for l, v := range w.a[j*q : (j+1)*q] {
				sum += v * w.a[i*q+l]
			}
			w.chol[i*k+j] = sum
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
	sum := 0.0
	for _, v := range w.u {
		sum += v * v
	}
	for l := range q {
		row := w.t[l*k : (l+1)*k]
		dense.SolveLower(w.chol, k, row)
		for i, v := range w.u {
			linear[l] += row[i] * v
		}
		for h := range l + 1 {
			dot := 0.0
			for i, v := range w.t[h*k : (h+1)*k] {
				dot += row[i] * v
			}
			precision[l*q+h] += dot
		}
	}
	return -0.5 * (dense.LogDet(w.chol, k) + sum)
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
	for l := range q {
		eta[l] = rng.NormFloat64()
	}
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
	dense.SolveLower(w.chol, k, w.u)
	dense.SolveLowerT(w.chol, k, w.u)
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
	for i := range q {
		copy(g.gram[i*k:i*k+q], t.XX[i*q:])
		g.gram[q*k+i] = t.XY[i]
	}
	g.gram[q*k+q], g.n = t.YY, n
	if !dense.SymEigen(g.values, g.vectors, g.gram, k, g.work) {
		return false
	}
	least, most := g.values[0], g.values[0]
	for _, v := range g.values {
		least, most = math.Min(least, v), math.Max(most, v)
	}
	g.border = n > float64(q) && least <= borderShare*most
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
