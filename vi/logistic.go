package vi

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// logistic is y ~ Bernoulli(1/(1 + e^{−xᵀθ})), θ ~ N(0, sd² I).
type logistic struct {
	rows *Rows
	sd   float64
}

// Logistic returns the logistic regression of responses that are 0 or 1, or between them,
// where y counts as a share y of a 1 and the rest of a 0, with prior N(0, sd² I). Slopes are between −1 and 1, so gradients are no longer than rows. It
// panics unless X is len(Y) × P.
func Logistic(rows *Rows, sd float64) Linear {
	rows.mustFit()
	return &logistic{rows, sd}
}

func (l *logistic) Dim() int                        { return l.rows.P }
func (l *logistic) Len() int                        { return len(l.rows.Y) }
func (l *logistic) Names() []string                 { return indexed("theta", l.rows.P) }
func (l *logistic) Constrain(dst, th []float64)     { copy(dst, th) }
func (l *logistic) Predictors() int                 { return l.rows.P }
func (l *logistic) Covariates(i int) []float64      { return l.rows.row(i) }
func (l *logistic) LogPrior(g, t []float64) float64 { return normalPrior(g, t, l.sd) }

func (l *logistic) Slope(i int, eta float64) float64 { return bernoulliSlope(l.rows.Y[i], eta) }

func (l *logistic) LogLik(grad, theta []float64, i int) float64 {
	return bernoulliLogLik(grad, theta, l.rows.row(i), l.rows.Y[i])
}

// bernoulliSlope is y − σ(η), the derivative of the log-likelihood yη − log(1 + e^η) of y
// from 0 to 1. Where e^{−η} overflows, σ is 0.
func bernoulliSlope(y, eta float64) float64 { return y - 1/(1+math.Exp(-eta)) }

// bernoulliLogLik is LogLik of a response with the predictor xᵀθ.
func bernoulliLogLik(grad, theta, x []float64, y float64) float64 {
	eta := floats.Dot(x, theta[:len(x)])
	slope := bernoulliSlope(y, eta)
	for j, v := range x {
		grad[j] = slope * v
	}
	clear(grad[len(x):])
	return y*eta - softplus(eta)
}
