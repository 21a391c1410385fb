package model

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Hub are the parameters that custodians share, in unconstrained coordinates
//
//	φ = (θ, log σ²; where covariates are shared μ_x and U of T, as in Coordinates;
//	     where pooling is partial those of Spread),
//
// the first q + 1 of which are then the centre of Spread's law.
//
// Given them the releases are independent of one another. A Hub holds a workspace,
// so each chain needs its own.
type Hub struct {
	Shape  Shape
	Params *Params
	Spread *Spread   // nil unless pooling is partial
	Centre []float64 // (θ, log σ²) at the last Constrain; of a family with a Spread θ alone

	// GTheta, GSigma, GMuX and GFactor take the gradient of a function in (θ, log σ²), σ,
	// μ_x and the Cholesky factor of T (lower triangle), for Pull.
	GTheta  []float64
	GSigma  float64
	GMuX    []float64
	GFactor []float64

	linked      bool // σ is none of the problem's parameters
	coordinates *Coordinates
}

// NewHub allocates for a problem.
func NewHub(t *Joint) *Hub {
	s := t.Shape
	h := &Hub{Shape: s, linked: t.Family != Normal, Params: NewRegressionParams(s), Centre: make([]float64, s.Q()+1), GTheta: make([]float64, s.Q()+1), coordinates: NewRegressionCoordinates(t.Prior)}
	if t.Shared {
		h.Params, h.coordinates = NewParams(s), NewCoordinates(s, t.Prior)
		h.GMuX, h.GFactor = make([]float64, s.P), make([]float64, s.P*s.P)
	}
	if t.Partial {
		h.Spread = NewSpread(s.Q(), t.SpreadSD)
		h.Centre = h.Centre[:len(h.Spread.Tau)]
	}
	return h
}

// Shared reports whether the covariates' law is among the parameters.
func (h *Hub) Shared() bool { return h.coordinates.p > 0 }

// Dim returns the number of coordinates.
func (h *Hub) Dim() int {
	dim := h.coordinates.Dim()
	if h.Spread != nil {
		dim += h.Spread.Dim()
	}
	return dim
}

// Factor is the lower Cholesky factor of T, p×p, where covariates are shared.
func (h *Hub) Factor() []float64 { return h.coordinates.l }

// Unconstrain writes φ of parameters x, and leaves Spread's; it reports false where T
// is not positive definite.
func (h *Hub) Unconstrain(phi []float64, x *Params) bool { return h.coordinates.Unconstrain(phi, x) }

// Constrain takes the parameters of φ.
func (h *Hub) Constrain(phi []float64) {
	copy(h.Centre, phi)
	h.coordinates.Constrain(h.Params, phi)
	if h.Spread != nil {
		h.Spread.Constrain(phi[h.coordinates.Dim():])
	}
}

// takeCentre takes u of Spread's law, and returns its log prior; it writes a gradient that is of no use.
func (h *Hub) takeCentre(u, unused []float64) (logp float64) {
	copy(h.Centre, u)
	if at := copy(h.Params.Theta, u); at < len(u) {
		h.Params.Sigma2 = math.Exp(u[at])
	}
	return h.coordinates.nig.logDensity(unused, h.Params)
}

// LogPrior returns log p(φ) up to a constant, at the point of the last Constrain,
// and writes its gradient. It clears what Pull takes.
func (h *Hub) LogPrior(grad, phi []float64) (logp float64) {
	k := h.coordinates.Dim()
	logp = h.coordinates.LogPrior(grad[:k], h.Params)
	clear(h.GMuX)
	clear(h.GFactor)
	if h.Spread != nil {
		logp += h.Spread.LogPrior(grad[k:], phi[k:])
		clear(h.Spread.GTau)
		clear(h.Spread.GFactor)
	}
	clear(h.GTheta)
	h.GSigma = 0
	return logp
}

// Pull adds to grad, in φ, the gradient that stands in the fields; ∂σ/∂ log σ² = ½σ.
func (h *Hub) Pull(grad []float64) {
	q, p := h.Shape.Q(), h.coordinates.p
	floats.Add(grad[:q+1], h.GTheta)
	grad[q] += 0.5 * math.Sqrt(h.Params.Sigma2) * h.GSigma
	floats.Add(grad[q+1:q+1+p], h.GMuX)
	for i := range p {
		for j := range i + 1 {
			h.coordinates.addFactor(grad, i, j, h.GFactor[i*p+j])
		}
	}
	if h.Spread != nil {
		h.Spread.Pull(grad[h.coordinates.Dim():])
	}
}

// Write lays the parameters out as Joint.Names begins, Ω included, and returns the
// number written.
func (h *Hub) Write(dst []float64) int {
	write := h.Params.Write
	if h.linked {
		write = h.Params.WriteLinked
	}
	at := write(dst)
	if h.Spread != nil {
		at += h.Spread.Write(dst[at:])
	}
	return at
}

// Signs lists the coordinates whose sign the quadratic statistics may leave open: θ
// and μ_x.
func (h *Hub) Signs() (at []int) {
	q := h.Shape.Q()
	for k := range q {
		at = append(at, k)
	}
	for j := range h.Params.MuX {
		at = append(at, q+1+j)
	}
	return at
}
