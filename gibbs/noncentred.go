package gibbs

import (
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// noncentred is the density of u = (θ, log σ²) and B of model.Spread with η_j of every
// w_j = (θ_j, log σ_j²) = u + Bη_j, and all (f, A) and other parameters held: with their
// laws free of u and B,
//
//	p(u, B | η, f, A, …) ∝ p(u) p(B) ∏ p(z_j | s_j(u + Bη_j, …; f_j, A_j)).
//
// Where noise hides s, u and B could hardly move while w_j stays; where it does not, they
// move given w_j and the statistics, by model.Hierarchy.
type noncentred struct {
	*sites
	hub  *model.Hub // of u and B
	eta  [][]float64
	turn []float64 // Cη
	now  []float64 // the hub's coordinates
}

func newNoncentred(c *sites) *noncentred {
	p, k := c.problem, c.problem.Shape.Q()+1
	t := &noncentred{sites: c, hub: model.NewHub(&model.Joint{Shape: p.Shape, Prior: p.Prior, Partial: true}), turn: make([]float64, k)}
	t.now = make([]float64, t.Dim())
	for range c.all {
		t.eta = append(t.eta, make([]float64, k))
	}
	return t
}

// Dim returns the number of coordinates.
func (t *noncentred) Dim() int { return t.hub.Dim() }

// hold takes where u, B and every site stand.
func (t *noncentred) hold() {
	h := t.hierarchy
	copy(t.now[copy(t.now, h.Centre):], h.Phi)
	for j, s := range t.all {
		eta := t.eta[j]
		for k, v := range s.coefficients() {
			eta[k] = v - h.Centre[k]
		}
		dense.SolveLower(h.Root, len(eta), eta)
	}
}

// LogDensity returns the log density, and the slope that is followed.
func (t *noncentred) LogDensity(grad, x []float64) float64 {
	n := len(t.turn)
	t.hub.Constrain(x)
	logp, spread := t.hub.LogPrior(grad, x), t.hub.Spread
	for j, s := range t.all {
		a, eta := s.ancillary, t.eta[j]
		copy(a.phi, s.phi)
		own := a.phi[t.lead : t.lead+n]
		t.place(own, eta)
		a.move(a.phi)
		clear(a.grad)
		logp += a.likelihood(s.among)
		for k, g := range a.grad[t.lead : t.lead+n] {
			t.hub.GTheta[k] += g
			spread.GTau[k] += g * t.turn[k]
			for l, e := range eta[:k+1] {
				spread.GFactor[k*n+l] += g * spread.Tau[k] * e
			}
		}
	}
	t.hub.Pull(grad)
	return logp
}

// place writes w_j of η at the hub's point, and Cη to turn.
func (t *noncentred) place(own, eta []float64) {
	spread, n := t.hub.Spread, len(t.turn)
	for k := range n {
		t.turn[k] = 0
		for l, e := range eta[:k+1] {
			t.turn[k] += spread.Factor[k*n+l] * e
		}
		own[k] = t.hub.Centre[k] + spread.Tau[k]*t.turn[k]
	}
}

// settle moves u, B and every w_j to now.
func (t *noncentred) settle() {
	n := len(t.turn)
	t.hub.Constrain(t.now)
	t.hierarchy.Take(t.now[:n], t.now[n:])
	for j, s := range t.all {
		t.place(s.coefficients(), t.eta[j])
	}
}
