package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// hub is model.Hub in coordinates that noise tells: those of triangle, of σ in place of
// log σ² and where covariates are shared of the factor L of T in place of U. What the
// custodians' noises leave together of a mean square is r_i of 1/r_i² = Σ_j 1/r_ij². Where
// pooling is partial noise tells σ_j, and σ by its law alone, which is of log σ: r is unseen. Of a
// family σ has its prior alone, and draws leave it out.
type hub struct {
	*model.Hub
	sigma, factor *triangle // factor is nil unless covariates are shared
	means         *means    // of μ_x; nil as factor

	x, phi          []float64  // at the last Constrain, and there
	root            []float64  // L, p×p
	s               [1]float64 // σ
	gFactor, gMeans []float64  // gradients in L, μ_x
	gS              [1]float64 // and σ
}

// unseen is an r so large that triangle's t is log D².
const unseen = 1e9

func newHub(t *model.Joint) *hub {
	h, m, p := &hub{Hub: model.NewHub(t)}, t.Shape.M(), t.Shape.P
	vec := func(n int) []float64 { return make([]float64, n) }
	squares, linear := vec(m), vec(m)
	for _, s := range t.Sites {
		for i, v := range noiseOfSquares(s) {
			squares[i] += 1 / (v * v)
		}
		addScaled(linear, 1, noiseOfMeans(s))
	}
	for i, v := range squares {
		squares[i] = 1 / math.Sqrt(v)
	}
	if t.Partial || t.Family != model.Normal {
		squares[p] = unseen
	}
	h.sigma = newTriangle(squares[p:])
	if h.Shared() {
		h.factor, h.root, h.gFactor = newTriangle(squares[:p]), vec(p*p), vec(p*p)
		h.means, h.gMeans = newMeans(linear[:p], t.Prior), vec(p)
	}
	h.x, h.phi = vec(h.Dim()), vec(h.Dim())
	return h
}

// places returns where σ stands, and where L.
func (h *hub) places() (sigma, factor int) {
	q := h.Shape.Q()
	return q, q + 1 + h.Shape.P
}

// Unconstrain writes coordinates of parameters, and leaves Spread's.
func (h *hub) Unconstrain(x []float64, params *model.Params) bool {
	if !h.Hub.Unconstrain(x, params) {
		return false
	}
	at, from := h.places()
	h.s[0] = math.Exp(0.5 * x[at])
	h.sigma.coordinates(x[at:], h.s[:], 1)
	if h.factor != nil {
		h.Hub.Constrain(x)
		h.factor.coordinates(x[from:], h.Factor(), h.Shape.P)
		h.means.coordinates(x[at+1:], params.MuX, h.Factor(), h.Shape.P)
	}
	return true
}

// Constrain takes the parameters of x.
func (h *hub) Constrain(x []float64) {
	copy(h.x, x)
	copy(h.phi, x)
	at, from := h.places()
	h.sigma.set(h.s[:], x[at:], 1)
	h.phi[at] = 2 * math.Log(h.s[0])
	if h.factor != nil {
		p, u := h.Shape.P, h.phi[from:]
		h.factor.set(h.root, x[from:], p)
		h.means.set(h.phi[at+1:], x[at+1:], h.root, p)
		for i := range p {
			for j := range i {
				u[j] = h.root[i*p+j] / h.root[i*p+i]
			}
			u[i] = math.Log(h.root[i*p+i])
			u = u[i+1:]
		}
	}
	h.Hub.Constrain(h.phi)
}

// LogPrior returns log p(φ) at the point of the last Constrain, and writes its gradient in
// φ. It clears what Pull takes.
func (h *hub) LogPrior(grad []float64) float64 { return h.Hub.LogPrior(grad, h.phi) }

// Pull adds the gradient that stands in the fields, and takes it to x, with that of
// log|∂φ/∂x|, which it returns: |∂(U, log σ²)/∂(L, σ)| = 2∏L_ii^{−i}/σ, i = 1 … p.
func (h *hub) Pull(grad []float64) (logJ float64) {
	h.Hub.Pull(grad)
	at, from := h.places()
	h.gS[0] = (2*grad[at] - 1) / h.s[0]
	grad[at] = 0
	logJ = h.sigma.pull(grad[at:], h.s[:], h.gS[:], 1) - math.Log(h.s[0])
	if h.factor == nil {
		return logJ
	}
	p, u, g := h.Shape.P, h.phi[from:], grad[from:]
	for i := range p {
		lii := h.root[i*p+i]
		for j := range i {
			h.gFactor[i*p+j] = g[j] / lii
			h.gFactor[i*p+i] -= g[j] * u[j] / lii
		}
		h.gFactor[i*p+i] += (g[i] - float64(i+1)) / lii
		logJ -= float64(i+1) * math.Log(lii)
		u, g = u[i+1:], g[i+1:]
	}
	copy(h.gMeans, grad[at+1:])
	logJ += h.means.pull(grad[at+1:], h.x[at+1:], h.gMeans, h.root, h.gFactor, p)
	clear(grad[from : from+h.factor.dim()])
	logJ += h.factor.pull(grad[from:], h.root, h.gFactor, p)
	clear(h.gFactor)
	return logJ
}
