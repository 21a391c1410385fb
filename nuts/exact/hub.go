package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// hub is model.Hub in coordinates that noise tells: V = σ² of softplus in place of log σ² and, where
// covariates are shared, those of columns of μ_x and of the factor L of T in place of U. What the
// custodians' noises leave together of a mean square is r_i of 1/r_i² = Σ_j 1/r_ij². Where
// pooling is partial, or releases are levels, noise tells σ_j, and σ by its law alone, which is of log σ: r is unseen. Of a
// family σ has its prior alone, and draws leave it out.
type hub struct {
	*model.Hub
	r       float64   // of σ²
	columns *columns  // nil unless covariates are shared
	known   []float64 // precisions that the prior gives θ, where these are not of σ²

	x, phi []float64   // at the last Constrain, and there
	law    *statistics // μ_x and L
	slope  float64     // ∂ log σ²/∂x
	logJ   float64     // log|∂φ/∂x|
}

// unseen is an r so large that x is log σ².
const unseen = 1e9

func newHub(t *model.Joint) *hub {
	h, p := &hub{Hub: model.NewHub(t)}, t.Shape.P
	squares, _ := noiseOf(t.Sites)
	if h.r = squares[p]; t.Partial || t.Family != model.Normal || t.Sites[0].PerLevel() {
		h.r = unseen
	}
	if h.Shared() {
		h.columns, h.law = commonColumns(t.Prior, p, t.Sites), newStatistics(p)
	}
	if h.known = vec(t.Shape.Q()); t.Prior.Unscaled {
		for k := range h.known {
			h.known[k] = t.Prior.Theta.Precision[k*(len(h.known)+1)]
		}
	}
	h.x, h.phi = vec(h.Dim()), vec(h.Dim())
	return h
}

// noiseOf returns, in common units, the sd of the noise of each column's mean square and the precision of that
// of its mean, of all sites together.
func noiseOf(sites []*model.Site) (squares, linear []float64) {
	m := sites[0].Shape.M()
	squares, linear = vec(m), vec(m)
	for _, s := range sites {
		n, toCommon := rowsTold(s.Observation), s.Units.Inverse()
		for i := range m {
			row, _ := toCommon.Row(i)
			square := dot(row, row) // |A⁻¹_i|², see byColumns
			linear[i] += n * n / (square * s.Variance(i))
			squares[i] += n * n / (square * square * s.Variance(release.Index(m, i, i)))
		}
	}
	for i, v := range squares {
		squares[i] = 1 / math.Sqrt(v)
	}
	return squares, linear
}

// commonColumns are those of covariates in common units, about the prior's means, of D with m columns.
func commonColumns(prior *model.Prior, m int, sites []*model.Site) *columns {
	p := prior.Covariates.Dim()
	squares, linear := noiseOf(sites)
	c := newColumns(p, m, squares[:p])
	copy(c.linear, linear)
	copy(c.origin, prior.Covariates.Mean)
	c.addPrior(prior, model.Identity(p+1))
	return c
}

// Unconstrain writes coordinates of parameters, and leaves Spread's.
func (h *hub) Unconstrain(x []float64, params *model.Params) bool {
	if !h.Hub.Unconstrain(x, params) {
		return false
	}
	h.Params.Sigma2 = params.Sigma2
	h.placeSigma(x)
	at := h.Shape.Q()
	if h.columns != nil {
		h.Hub.Constrain(x)
		copy(h.law.mean, params.MuX)
		copy(h.law.d, h.Factor())
		h.columns.place(x[at+1:], h.law)
	}
	return true
}

// placeSigma writes the coordinate of σ².
func (h *hub) placeSigma(x []float64) { x[h.Shape.Q()] = softplusInverse(h.Params.Sigma2 / h.r) }

// Constrain takes the parameters of x. It reports false where floating point has none.
func (h *hub) Constrain(x []float64) (ok bool) {
	copy(h.x, x)
	copy(h.phi, x)
	at := h.Shape.Q()
	plus, slope := softplus(x[at])
	h.phi[at], h.slope = math.Log(h.r*plus), slope/plus
	h.logJ, ok = math.Log(h.slope), x[at] > leastLog
	if h.columns != nil {
		p := h.Shape.P
		log, in := h.columns.take(h.law, x[at+1:])
		h.logJ, ok = h.logJ+log+0.5*h.columns.product.value(), ok && in
		u := h.phi[at+1:]
		u = u[copy(u, h.law.mean):]
		for i := range p {
			row := h.law.d[i*p : i*p+i+1]
			for j, v := range row[:i] {
				u[j] = v / row[i]
			}
			u[i] = 0.5 * h.columns.logSquare[i]
			h.logJ -= float64(i+1) * u[i]
			u = u[i+1:]
		}
	}
	h.Hub.Constrain(h.phi)
	return ok
}

// LogPrior returns log p(φ) at the point of the last Constrain, and writes its gradient in
// φ. It clears what Pull takes.
func (h *hub) LogPrior(grad []float64) float64 { return h.Hub.LogPrior(grad, h.phi) }

// Pull adds the gradient that stands in the fields, and takes it to x, with that of
// log|∂φ/∂x|, which it returns: |∂U/∂L| = ∏L_ii^{−i}, i = 1 … p.
func (h *hub) Pull(grad []float64) (logJ float64) {
	h.Hub.Pull(grad)
	at := h.Shape.Q()
	_, slope := softplus(h.x[at])
	grad[at] = (grad[at]-1)*h.slope + 1 - slope
	if h.columns == nil {
		return h.logJ
	}
	p := h.Shape.P
	x := grad[at+1:] // of μ_x and U, then of columns
	u, g := h.phi[at+1+p:], x[copy(h.law.gMean, x):]
	for i := range p {
		lii := h.law.d[i*p+i]
		for j := range i {
			h.law.gD[i*p+j] = g[j] / lii
			h.law.gD[i*p+i] -= g[j] * u[j] / lii
		}
		h.law.gD[i*p+i] += (g[i] - float64(i+1)) / lii
		u, g = u[i+1:], g[i+1:]
	}
	h.columns.pull(x, h.law, h.x[at+1:])
	clear(h.law.gD)
	return h.logJ
}
