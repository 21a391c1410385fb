package gibbs

import "github.com/dpreg/dpreg/internal/dense"

// regression is how a site's own coordinates x follow the shared ones h: with gradients g
// of the log density in both,
//
//	slope = −E[g_x g_xᵀ]⁻¹ E[g_x g_hᵀ],
//
// that of the mode of x on h, since E ggᵀ is the mean of minus the Hessian. It is 0 until
// warm-up has estimated it.
type regression struct {
	lead, own     int
	slope         []float64 // own×lead
	count         float64
	square, cross []float64 // sums of g_x g_xᵀ, its lower triangle, and of g_x g_hᵀ
	column        []float64
}

func newRegression(lead, own int) *regression {
	vec := func(n int) []float64 { return make([]float64, n) }
	return &regression{lead: lead, own: own, slope: vec(own * lead), square: vec(own * own), cross: vec(own * lead), column: vec(own)}
}

// row is the slope of one coordinate.
func (r *regression) row(i int) []float64 { return r.slope[i*r.lead : (i+1)*r.lead] }

// add takes a gradient in (h, x).
func (r *regression) add(grad []float64) {
	r.count++
	h, x := grad[:r.lead], grad[r.lead:]
	for i, v := range x {
		axpy(r.square[i*r.own:i*r.own+i+1], v, x)
		axpy(r.cross[i*r.lead:(i+1)*r.lead], v, h)
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
		for k := range r.lead {
			for i := range r.column {
				r.column[i] = -shrink * r.cross[i*r.lead+k]
			}
			dense.SolveLower(r.square, r.own, r.column)
			dense.SolveLowerT(r.square, r.own, r.column)
			for i, v := range r.column {
				r.slope[i*r.lead+k] = v
			}
		}
	}
	r.count = 0
	clear(r.square)
	clear(r.cross)
}
