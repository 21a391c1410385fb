package gibbs

import (
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// rough has coordinates c of one release's w_j = (θ_j, log σ_j²), given u and B of
// model.Spread: what a guess of warm-up leaves open, see model.Guess. With u and B held that
// is a linear map, and any guess gives the same posterior. P is the mean of ggᵀ over
// warm-up's slopes g of log p(z | w_j), and the guess's mean that of w_j.
type rough struct {
	guess  *model.Guess
	q      int       // of w_j
	centre []float64 // of w_j: u + Λ⁻¹P(g − u)
	prior  []float64 // slope of log N(w_j; u, BBᵀ) where the density was taken last

	count       float64
	sum, square []float64 // of w_j, and of ggᵀ, lower triangle
}

func newRough(prior []float64) *rough {
	q := len(prior)
	vec := func(n int) []float64 { return make([]float64, n) }
	return &rough{guess: model.NewGuess(q), q: q, centre: vec(q), prior: prior, sum: vec(q), square: vec(q * q)}
}

// at takes u and B; it reports false where rounding leaves Λ without a root.
func (r *rough) at(h *model.Hierarchy) bool {
	if !r.guess.At(h.Root, h.Centre) {
		return false
	}
	for k, v := range h.Centre {
		r.centre[k] = r.guess.Centre[k] + v
	}
	return true
}

// toC replaces w_j by c.
func (r *rough) toC(x []float64) {
	for k, v := range r.centre {
		x[k] -= v
	}
	dense.MulLowerTVec(x, r.guess.Root, r.q, x)
}

// toOwn replaces c by w_j.
func (r *rough) toOwn(x []float64) {
	dense.SolveLowerT(r.guess.Root, r.q, x)
	for k, v := range r.centre {
		x[k] += v
	}
}

// pull replaces the gradient in w_j by that in c.
func (r *rough) pull(grad []float64) { dense.SolveLower(r.guess.Root, r.q, grad) }

// add takes w_j and the slope of the density in it, of which prior is a part.
func (r *rough) add(own, slope []float64) {
	r.count++
	for k, v := range own {
		r.sum[k] += v
		for l := range k + 1 {
			r.square[k*r.q+l] += (slope[k] - r.prior[k]) * (slope[l] - r.prior[l])
		}
	}
}

// update takes the window's guess, correlations shrunk by n/(n + 5 + q), and starts a new
// one.
func (r *rough) update() {
	if r.count > 0 {
		shrink := 1 / (r.count + 5 + float64(r.q))
		for k := range r.q {
			r.guess.Mean[k] = r.sum[k] / r.count
			for l := range k {
				r.guess.Precision[k*r.q+l] = shrink * r.square[k*r.q+l]
			}
			r.guess.Precision[k*r.q+k] = r.square[k*r.q+k] / r.count
		}
		dense.Symmetrise(r.guess.Precision, r.q)
	}
	r.count = 0
	clear(r.sum)
	clear(r.square)
}
