package gibbs

import (
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// rowCoordinates are coordinates of one release's parameters and the law of its rows in
// them; see model.Coordinates, which are such.
type rowCoordinates interface {
	Dim() int
	Unconstrain(phi []float64, x *model.Params) bool
	Constrain(x *model.Params, phi []float64)
	Rows(mean, factor []float64, x *model.Params)
	LogPrior(grad []float64, x *model.Params) float64
	PullRows(grad []float64, x *model.Params, gMean, gFactor []float64)
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
	k := l.shape.Q() + 1
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
	for i, v := range t.hierarchy.Centre {
		t.slope[i] = v - t.phi[i]
	}
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
	axpy(t.own(grad), 1, t.grad[:t.k])
	axpy(t.covariates(grad), 1, t.grad[t.k:])
}
