package gibbs

import "github.com/dpreg/dpreg/model"

// source is where the moments of x come from: the law of the statistics given
// the parameters, and the unconstrained coordinates φ of these. It is all that
// the steps know of the model, and holds a workspace, so each chain has its own.
type source interface {
	model.Law
	// Dim is the length of φ.
	Dim() int
	// Unconstrain writes φ of x; it reports false where rounding forbids that.
	Unconstrain(phi []float64, x *model.Params) bool
	// Constrain writes the parameters of φ into x.
	Constrain(x *model.Params, phi []float64)
	// LogPrior returns log p(φ) up to a constant, at the point of the last
	// Constrain, and writes its gradient.
	LogPrior(grad []float64, x *model.Params) float64
}

// rowSource is a source that has the law of rows in its coordinates; see model.Coordinates.
type rowSource interface {
	source
	Rows(mean, factor []float64, x *model.Params)
	PullRows(grad []float64, x *model.Params, gMean, gFactor []float64)
}

// fixed takes moments of x that do not depend on parameters.
type fixed struct {
	*model.FixedMoments
	*model.RegressionCoordinates
	grad []float64 // in (θ, σ²)
}

func newFixed(prior *model.Prior, law *model.FixedMoments) *fixed {
	coordinates := model.NewRegressionCoordinates(prior)
	return &fixed{law.Another(), coordinates, make([]float64, coordinates.Dim())}
}

// Pullback adds to grad, in φ, the gradient of a function f of (nμ_t, nΣ_t), given alpha =
// ∂f/∂(nμ_t) and the symmetric w with df = Σ_rc w_rc d(nΣ_t)_rc, of which only the lower
// triangle is read, at the point of the last Constrain and Set. ∂σ²/∂ log σ² = σ².
func (f *fixed) Pullback(grad []float64, x *model.Params, alpha, w []float64, n float64) {
	clear(f.grad)
	f.Adjoint(f.grad, alpha, w, n)
	last := len(f.grad) - 1
	f.grad[last] *= x.Sigma2
	axpy(grad, 1, f.grad)
}

// located takes the moments of x from normal covariates whose mean and covariance are parameters
// themselves. They are mapped from common units to those of the release, in which its noise is
// independent from entry to entry.
type located struct {
	*model.Moments
	*model.Coordinates
	units *model.Units
}

func newLocated(s model.Shape, prior *model.Prior, units *model.Units) *located {
	return &located{model.NewMoments(s), model.NewCoordinates(s, prior), units}
}

// Set takes the parameters that the other methods speak of.
func (l *located) Set(x *model.Params) {
	l.Moments.Set(x)
	l.units.Moments(l.Mean, l.Cov)
}
