package model

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
)

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
