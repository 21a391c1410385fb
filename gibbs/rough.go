package gibbs

import (
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// rough is a guess N(g, P⁻¹) of what z tells of one release's θ_j, and the coordinates c
// that it leaves open,
//
//	θ_j = θ + Λ⁻¹P(g − θ) + R⁻ᵀc,   Λ = Ω⁻¹ + P = RRᵀ.
//
// Were the guess right, c would be standard normal whatever Ω is: θ_j is as wide as Ω where
// z tells little of it and as P⁻¹ where it tells much, and no one step size serves both.
// Given θ and Ω that is a linear map, and any guess gives the same posterior. P is
// the mean of ggᵀ over warm-up's slopes g of log p(z | θ_j), and g that of θ_j.
type rough struct {
	q                int
	guess, precision []float64
	root, centre     []float64 // R, θ + Λ⁻¹P(g − θ)
	inverse          []float64 // B⁻¹

	count       float64
	sum, square []float64 // of θ_j, and of ggᵀ, lower triangle
}

func newRough(q int) *rough {
	vec := func(n int) []float64 { return make([]float64, n) }
	return &rough{q: q, guess: vec(q), precision: vec(q * q), root: vec(q * q), centre: vec(q), inverse: vec(q * q), sum: vec(q), square: vec(q * q)}
}

// at takes θ and Ω; it reports false where rounding leaves Λ without a root.
func (r *rough) at(h *model.Hierarchy) bool {
	q := r.q
	dense.InvertLower(r.inverse, h.Root, q)
	for k := range q {
		for l := range k + 1 { // Λ = B⁻ᵀB⁻¹ + P
			sum := r.precision[k*q+l]
			for i := k; i < q; i++ {
				sum += r.inverse[i*q+k] * r.inverse[i*q+l]
			}
			r.root[k*q+l] = sum
		}
	}
	if !dense.Cholesky(r.root, q) {
		return false
	}
	for k := range q {
		r.centre[k] = 0
		for l, v := range r.precision[k*q : (k+1)*q] {
			r.centre[k] += v * (r.guess[l] - h.Theta[l])
		}
	}
	dense.SolveLower(r.root, q, r.centre)
	dense.SolveLowerT(r.root, q, r.centre)
	for k, v := range h.Theta {
		r.centre[k] += v
	}
	return true
}

// toC replaces θ_j by c.
func (r *rough) toC(x []float64) {
	for k, v := range r.centre {
		x[k] -= v
	}
	dense.MulLowerTVec(x, r.root, r.q, x)
}

// toTheta replaces c by θ_j.
func (r *rough) toTheta(x []float64) {
	dense.SolveLowerT(r.root, r.q, x)
	for k, v := range r.centre {
		x[k] += v
	}
}

// pull replaces the gradient in θ_j by that in c.
func (r *rough) pull(grad []float64) { dense.SolveLower(r.root, r.q, grad) }

// add takes θ_j, the slope of the density in it, and the prior's part of that.
func (r *rough) add(theta, slope, prior []float64) {
	r.count++
	for k, v := range theta {
		r.sum[k] += v
		for l := range k + 1 {
			r.square[k*r.q+l] += (slope[k] - prior[k]) * (slope[l] - prior[l])
		}
	}
}

// update takes the window's guess, correlations shrunk by n/(n + 5 + q), and starts a new
// one.
func (r *rough) update() {
	if r.count > 0 {
		shrink := 1 / (r.count + 5 + float64(r.q))
		for k := range r.q {
			r.guess[k] = r.sum[k] / r.count
			for l := range k {
				r.precision[k*r.q+l] = shrink * r.square[k*r.q+l]
			}
			r.precision[k*r.q+k] = r.square[k*r.q+k] / r.count
		}
		dense.Symmetrise(r.precision, r.q)
	}
	r.count = 0
	clear(r.sum)
	clear(r.square)
}
