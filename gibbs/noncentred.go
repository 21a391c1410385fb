package gibbs

import (
	"gonum.org/v1/gonum/floats"

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

func (t *noncentred) Dim() int { return t.hub.Dim() }

// hold takes where u, B and every site stand.
func (t *noncentred) hold() {
	h := t.hierarchy
	copy(t.now[copy(t.now, h.Centre):], h.Phi)
	for j, s := range t.all {
		eta := t.eta[j]
		floats.SubTo(eta, s.coefficients(), h.Centre)
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
	dense.MulLowerVec(t.turn, spread.Factor, n, eta)
	for k, v := range t.turn {
		own[k] = t.hub.Centre[k] + spread.Tau[k]*v
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

// pooled is located for a release with a regression of its own, w_j = (θ_j, log σ_j²) ~
// N(u, BBᵀ), see model.Spread; θ_j and σ_j stand in the site's parameters, u and B in the
// hierarchy. The coordinates are located's, what is shared first:
//
//	(where they are shared those of (μ_x, T); w_j; else those of its own (μ_x, T)).
//
// LogPrior is that of all but what is shared, given u and B.
type pooled struct {
	*located
	hierarchy *model.Hierarchy
	k, lead   int       // of w_j, of what is shared
	phi, grad []float64 // located's coordinates, and a gradient in them
	slope     []float64 // of log N(w_j; u, BBᵀ), at the last LogPrior
}

func newPooled(l *located, hierarchy *model.Hierarchy, lead int) *pooled {
	vec := func(n int) []float64 { return make([]float64, n) }
	k := len(hierarchy.Centre)
	return &pooled{located: l, hierarchy: hierarchy, k: k, lead: lead, phi: vec(l.Dim()), grad: vec(l.Dim()), slope: vec(k)}
}

// own is the part of y that is w_j, and covariates that of (μ_x, T).
func (t *pooled) own(y []float64) []float64 { return y[t.lead : t.lead+t.k] }

func (t *pooled) covariates(y []float64) []float64 {
	if t.lead > 0 {
		return y[:t.lead]
	}
	return y[t.k:]
}

// Unconstrain writes the coordinates of x; it reports false where T is not positive
// definite.
func (t *pooled) Unconstrain(y []float64, x *model.Params) bool {
	ok := t.located.Unconstrain(t.phi, x)
	copy(t.own(y), t.phi)
	copy(t.covariates(y), t.phi[t.k:])
	return ok
}

// Constrain writes the parameters of y into x.
func (t *pooled) Constrain(x *model.Params, y []float64) {
	copy(t.phi, t.own(y))
	copy(t.phi[t.k:], t.covariates(y))
	t.located.Constrain(x, t.phi)
}

// LogPrior returns log N(w_j; u, BBᵀ) and, unless covariates are shared, log p(μ_x, T), up
// to a constant and at the point of the last Constrain, and writes the gradient.
func (t *pooled) LogPrior(grad []float64, x *model.Params) (logp float64) {
	clear(grad)
	if t.lead == 0 {
		logp = t.LogCovariates(t.grad, x)
		copy(t.covariates(grad), t.grad[t.k:])
	}
	floats.SubTo(t.slope, t.hierarchy.Centre, t.phi[:t.k])
	dense.SolveLower(t.hierarchy.Root, t.k, t.slope)
	for _, e := range t.slope {
		logp -= 0.5 * e * e
	}
	dense.SolveLowerT(t.hierarchy.Root, t.k, t.slope)
	copy(t.own(grad), t.slope)
	return logp
}

// PullRows is that of located's coordinates, in these.
func (t *pooled) PullRows(grad []float64, x *model.Params, gMean, gFactor []float64) {
	clear(t.grad)
	t.located.PullRows(t.grad, x, gMean, gFactor)
	floats.Add(t.own(grad), t.grad[:t.k])
	floats.Add(t.covariates(grad), t.grad[t.k:])
}
