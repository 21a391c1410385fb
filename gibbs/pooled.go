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

// pooled is located for a release with coefficients of its own, θ_j ~ N(θ, Ω), which stand
// in the site's parameters; θ and Ω stand in the hierarchy. The coordinates are located's,
// what is shared first:
//
//	(h; θ_j; unless covariates are shared those of its own (μ_x, T)),
//	h = (log σ²; where they are shared those of (μ_x, T)).
//
// LogPrior is that of all but h, given θ and Ω.
type pooled struct {
	*located
	hierarchy *model.Hierarchy
	q, lead   int
	phi, grad []float64 // located's coordinates, and a gradient in them
	slope     []float64 // of log N(θ_j; θ, Ω), at the last LogPrior
}

func newPooled(l *located, hierarchy *model.Hierarchy, lead int) *pooled {
	vec := func(n int) []float64 { return make([]float64, n) }
	q := l.shape.Q()
	return &pooled{located: l, hierarchy: hierarchy, q: q, lead: lead, phi: vec(l.Dim()), grad: vec(l.Dim()), slope: vec(q)}
}

// theta is the part of y that is θ_j, and covariates that of (μ_x, T).
func (t *pooled) theta(y []float64) []float64 { return y[t.lead : t.lead+t.q] }

func (t *pooled) covariates(y []float64) []float64 {
	if t.lead > 1 {
		return y[1:t.lead]
	}
	return y[t.lead+t.q:]
}

// Unconstrain writes the coordinates of x; it reports false where T is not positive
// definite.
func (t *pooled) Unconstrain(y []float64, x *model.Params) bool {
	ok := t.located.Unconstrain(t.phi, x)
	y[0] = t.phi[t.q]
	copy(t.theta(y), t.phi)
	copy(t.covariates(y), t.phi[t.q+1:])
	return ok
}

// Constrain writes the parameters of y into x.
func (t *pooled) Constrain(x *model.Params, y []float64) {
	copy(t.phi, t.theta(y))
	t.phi[t.q] = y[0]
	copy(t.phi[t.q+1:], t.covariates(y))
	t.located.Constrain(x, t.phi)
}

// LogPrior returns log N(θ_j; θ, Ω) and, unless covariates are shared, log p(μ_x, T), up to
// a constant and at the point of the last Constrain, and writes the gradient.
func (t *pooled) LogPrior(grad []float64, x *model.Params) (logp float64) {
	clear(grad)
	if t.lead == 1 {
		logp = t.LogCovariates(t.grad, x)
		copy(t.covariates(grad), t.grad[t.q+1:])
	}
	for k, v := range x.Theta {
		t.slope[k] = t.hierarchy.Theta[k] - v
	}
	dense.SolveLower(t.hierarchy.Root, t.q, t.slope)
	for _, e := range t.slope {
		logp -= 0.5 * e * e
	}
	dense.SolveLowerT(t.hierarchy.Root, t.q, t.slope)
	copy(t.theta(grad), t.slope)
	return logp
}

// PullRows is that of located's coordinates, in these.
func (t *pooled) PullRows(grad []float64, x *model.Params, gMean, gFactor []float64) {
	clear(t.grad)
	t.located.PullRows(t.grad, x, gMean, gFactor)
	t.pull(grad)
}

// Pullback is that of located, in these coordinates.
func (t *pooled) Pullback(grad []float64, x *model.Params, alpha, w []float64, n float64) {
	clear(t.grad)
	t.located.Pullback(t.grad, x, alpha, w, n)
	t.pull(grad)
}

func (t *pooled) pull(grad []float64) {
	grad[0] += t.grad[t.q]
	axpy(t.theta(grad), 1, t.grad[:t.q])
	axpy(t.covariates(grad), 1, t.grad[t.q+1:])
}
