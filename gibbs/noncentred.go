package gibbs

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// noncentred is the density of θ and Ω with η_j of every θ_j = θ + Bη_j, Ω = BBᵀ, and all
// (f, A) and other parameters held: with their laws free of θ and Ω,
//
//	p(θ, Ω | η, f, A, …) ∝ p(θ | σ²) p(Ω) ∏ p(z_j | s_j(θ + Bη_j, …; f_j, A_j)).
//
// Where noise hides s, θ and Ω could hardly move while θ_j stays; where it does not, they
// move given θ_j and the statistics, by model.Hierarchy.
type noncentred struct {
	*sites
	hub     *model.Hub // its coordinates are (θ, log σ², Ω's)
	x, grad []float64  // of hub
	eta     [][]float64
	turn    []float64 // Cη
	now     []float64 // (θ, Ω's)
}

func newNoncentred(c *sites) *noncentred {
	p, q := c.problem, c.problem.Shape.Q()
	t := &noncentred{sites: c, hub: model.NewHub(&model.Joint{Shape: p.Shape, Prior: p.Prior, Partial: true}), turn: make([]float64, q)}
	t.x, t.grad, t.now = make([]float64, t.hub.Dim()), make([]float64, t.hub.Dim()), make([]float64, t.Dim())
	for range c.all {
		t.eta = append(t.eta, make([]float64, q))
	}
	return t
}

// Dim returns the number of coordinates.
func (t *noncentred) Dim() int { return t.hub.Dim() - 1 }

// hold takes where θ, Ω and every site stand.
func (t *noncentred) hold() {
	h, q := t.hierarchy, len(t.turn)
	copy(t.now[copy(t.now, h.Theta):], h.Phi)
	t.x[q] = math.Log(h.Sigma2)
	for j, s := range t.all {
		eta := t.eta[j]
		for k, v := range s.theta() {
			eta[k] = v - h.Theta[k]
		}
		dense.SolveLower(h.Root, q, eta)
	}
}

// LogDensity returns the log density, and the slope that is followed.
func (t *noncentred) LogDensity(grad, x []float64) float64 {
	q := len(t.turn)
	copy(t.x, x[:q])
	copy(t.x[q+1:], x[q:])
	t.hub.Constrain(t.x)
	logp, spread := t.hub.LogPrior(t.grad, t.x), t.hub.Spread
	for j, s := range t.all {
		a, eta := s.ancillary, t.eta[j]
		copy(a.phi, s.phi)
		theta := a.phi[t.lead : t.lead+q]
		t.place(theta, eta)
		a.move(a.phi)
		clear(a.grad)
		logp += a.likelihood(s.among)
		for k, g := range a.grad[t.lead : t.lead+q] {
			t.hub.GTheta[k] += g
			spread.GTau[k] += g * t.turn[k]
			for l, e := range eta[:k+1] {
				spread.GFactor[k*q+l] += g * spread.Tau[k] * e
			}
		}
	}
	t.hub.Pull(t.grad)
	copy(grad, t.grad[:q])
	copy(grad[q:], t.grad[q+1:])
	return logp
}

// place writes θ_j of η at the hub's point, and Cη to turn.
func (t *noncentred) place(theta, eta []float64) {
	spread, q := t.hub.Spread, len(t.turn)
	for k := range q {
		t.turn[k] = 0
		for l, e := range eta[:k+1] {
			t.turn[k] += spread.Factor[k*q+l] * e
		}
		theta[k] = t.hub.Params.Theta[k] + spread.Tau[k]*t.turn[k]
	}
}

// settle moves θ, Ω and every θ_j to now.
func (t *noncentred) settle() {
	q := len(t.turn)
	copy(t.x, t.now[:q])
	copy(t.x[q+1:], t.now[q:])
	t.hub.Constrain(t.x)
	t.hierarchy.Take(t.now[:q], t.hierarchy.Sigma2, t.now[q:])
	for j, s := range t.all {
		t.place(s.theta(), t.eta[j])
	}
}
