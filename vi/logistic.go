package vi

import "math"

// logistic is y ~ Bernoulli(1/(1 + e^{−xᵀθ})), θ ~ N(0, sd² I).
type logistic struct {
	rows *Rows
	sd   float64
}

// Logistic returns the logistic regression of responses that are 0 or 1, with prior
// N(0, sd² I). Slopes are between −1 and 1, so gradients are no longer than rows. It
// panics unless X is len(Y) × P.
func Logistic(rows *Rows, sd float64) Linear {
	rows.mustFit()
	return &logistic{rows, sd}
}

func (l *logistic) Dim() int                        { return l.rows.P }
func (l *logistic) Len() int                        { return len(l.rows.Y) }
func (l *logistic) Names() []string                 { return indexed("theta", l.rows.P) }
func (l *logistic) Constrain(dst, th []float64)     { copy(dst, th) }
func (l *logistic) Covariates(i int) []float64      { return l.rows.row(i) }
func (l *logistic) LogPrior(g, t []float64) float64 { return normalPrior(g, t, l.sd) }

func (l *logistic) LogLik(grad, theta []float64, i int) float64 {
	return linearLogLik(l, grad, theta, i)
}

func (l *logistic) Slope(i int, eta float64) (logLik, slope float64) {
	return bernoulli(l.rows.Y[i], eta)
}

// bernoulli is the log-likelihood yη − log(1 + e^η) of y, 0 or 1, and its slope y − σ(η).
// With e = e^{−|η|} nothing overflows.
func bernoulli(y, eta float64) (logLik, slope float64) {
	e := math.Exp(-math.Abs(eta))
	p := 1 / (1 + e) // σ(|η|)
	if eta < 0 {
		p = e * p
	}
	return y*eta - max(eta, 0) - math.Log1p(e), y - p
}

// linearLogLik is LogLik of a Linear model.
func linearLogLik(l Linear, grad, theta []float64, i int) float64 {
	x := l.Covariates(i)
	logLik, slope := l.Slope(i, dot(x, theta))
	for j, v := range x {
		grad[j] = slope * v
	}
	clear(grad[len(x):])
	return logLik
}
