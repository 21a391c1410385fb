package model

import "github.com/dpreg/dpreg/internal/dense"

// Guess is a rough guess N(g, P⁻¹) of what z tells of one release's w ~ N(u, Ω), see
// Spread, and what it leaves open of w,
//
//	w = u + Λ⁻¹P(g − u) + R⁻ᵀc,   Λ = Ω⁻¹ + P = RRᵀ,   Ω = BBᵀ.
//
// Were the guess right, c would be standard normal whatever Ω is: w is as wide as Ω where
// z tells little of it and as P⁻¹ where it tells much, and no one step size serves both. Λ
// and P are whole matrices: where z tells w to a thousandth of what custodians differ by,
// coordinates taken one by one, as if Ω were diagonal, lie on a sheet that thin, which Ω's
// correlations bend.
type Guess struct {
	Mean, Precision []float64 // g, q; P, q×q

	// At the last At:
	Inverse, Root []float64 // B⁻¹ and R, q×q, lower triangular
	Centre        []float64 // Λ⁻¹P(g − u), q

	apart []float64 // g − u
}

// NewGuess allocates for a w of length q; its guess is that of none, P = 0.
func NewGuess(q int) *Guess {
	vec := func(n int) []float64 { return make([]float64, n) }
	return &Guess{Mean: vec(q), Precision: vec(q * q), Inverse: vec(q * q), Root: vec(q * q), Centre: vec(q), apart: vec(q)}
}

// At takes B, q×q and lower triangular, and u. It reports false where rounding leaves Λ
// without a root.
func (g *Guess) At(root, u []float64) bool {
	q := len(g.Mean)
	dense.InvertLower(g.Inverse, root, q)
	for k := range q {
		for l := range k + 1 { // Λ = B⁻ᵀB⁻¹ + P
			sum := g.Precision[k*q+l]
			for i := k; i < q; i++ {
				sum += g.Inverse[i*q+k] * g.Inverse[i*q+l]
			}
			g.Root[k*q+l] = sum
		}
	}
	ok := dense.Cholesky(g.Root, q)
	for k, v := range u {
		g.apart[k] = g.Mean[k] - v
	}
	g.weigh(g.Centre, g.apart)
	dense.SolveLower(g.Root, q, g.Centre)
	dense.SolveLowerT(g.Root, q, g.Centre)
	return ok
}

// weigh writes Pv.
func (g *Guess) weigh(dst, v []float64) {
	q := len(g.Mean)
	for k := range q {
		sum := 0.0
		for l, p := range g.Precision[k*q : (k+1)*q] {
			sum += p * v[l]
		}
		dst[k] = sum
	}
}
