package gibbs

import (
	"gonum.org/v1/gonum/floats"

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
	floats.AddTo(r.centre, r.guess.Law.Mean, h.Centre)
	return true
}

// toC replaces w_j by c.
func (r *rough) toC(x []float64) {
	floats.Sub(x, r.centre)
	dense.MulLowerTVec(x, r.guess.Law.Root, r.q, x)
}

// toOwn replaces c by w_j.
func (r *rough) toOwn(x []float64) {
	dense.SolveLowerT(r.guess.Law.Root, r.q, x)
	floats.Add(x, r.centre)
}

// pull replaces the gradient in w_j by that in c.
func (r *rough) pull(grad []float64) { dense.SolveLower(r.guess.Law.Root, r.q, grad) }

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

// regression is how a site's own coordinates x follow the shared ones h: with gradients g
// of the log density in both,
//
//	slope = −E[g_x g_xᵀ]⁻¹ E[g_x g_hᵀ],
//
// that of the mode of x on h, since E ggᵀ is the mean of minus the Hessian. It is 0 until
// warm-up has estimated it.
type regression struct {
	own           int
	slope         []float64 // of each shared coordinate, own of them
	count         float64
	square, cross []float64 // sums of g_x g_xᵀ, its lower triangle, and of g_h g_xᵀ
}

func newRegression(lead, own int) *regression {
	vec := func(n int) []float64 { return make([]float64, n) }
	return &regression{own: own, slope: vec(lead * own), square: vec(own * own), cross: vec(lead * own)}
}

// of are the slopes on shared coordinate k.
func (r *regression) of(k int) []float64 { return r.slope[k*r.own : (k+1)*r.own] }

func (r *regression) add(grad []float64) {
	r.count++
	lead := len(grad) - r.own
	x := grad[lead:]
	for i, v := range x {
		floats.AddScaled(r.square[i*r.own:i*r.own+i+1], v, x[:i+1])
	}
	for k, v := range grad[:lead] {
		floats.AddScaled(r.cross[k*r.own:(k+1)*r.own], v, x)
	}
}

// update takes the window's slope, shrunk as correlations are by n/(n + 5 + dim x), and
// starts a new one.
func (r *regression) update() {
	shrink := r.count / (r.count + 5 + float64(r.own))
	for i := range r.own {
		for j := range i {
			r.square[i*r.own+j] *= shrink
		}
	}
	if dense.Cholesky(r.square, r.own) {
		floats.ScaleTo(r.slope, -shrink, r.cross)
		for k := range len(r.slope) / max(1, r.own) {
			dense.Solve(r.square, r.own, r.of(k))
		}
	}
	r.count = 0
	clear(r.square)
	clear(r.cross)
}
