package vi

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// linearRegression is y ~ N(xᵀθ, σ²), θ ~ N(0, sd² I), σ² ~ InvGamma(a, b), in the
// unconstrained parameters (θ, w), w = log σ². With the residual r,
//
//	log p(y | θ, w) = −½ log 2π − w/2 − r² e^{−w}/2,
//
// and the prior of w, with the Jacobian, is −aw − b e^{−w} up to a constant.
type linearRegression struct {
	rows         *Rows
	sd           float64
	shape, scale float64
}

// LinearRegression returns the regression with normal errors of unknown variance, with
// priors N(0, sd² I) and InvGamma(shape, scale). It panics unless X is len(Y) × P.
func LinearRegression(rows *Rows, sd, shape, scale float64) Model {
	rows.mustFit()
	return &linearRegression{rows, sd, shape, scale}
}

func (l *linearRegression) Dim() int { return l.rows.P + 1 }
func (l *linearRegression) Len() int { return len(l.rows.Y) }

func (l *linearRegression) Names() []string {
	return slices.Concat(indexed("theta", l.rows.P), []string{"sigma2"})
}

func (l *linearRegression) Constrain(dst, theta []float64) {
	copy(dst, theta)
	dst[l.rows.P] = math.Exp(theta[l.rows.P])
}

func (l *linearRegression) LogLik(grad, theta []float64, i int) float64 {
	x, w := l.rows.row(i), theta[l.rows.P]
	r := l.rows.Y[i] - floats.Dot(x, theta[:l.rows.P])
	precision := math.Exp(-w)
	for j, v := range x {
		grad[j] = precision * r * v
	}
	grad[l.rows.P] = -0.5 + precision*r*r/2
	return -(math.Log(2*math.Pi) + w + precision*r*r) / 2
}

func (l *linearRegression) LogPrior(grad, theta []float64) float64 {
	p := l.rows.P
	logPrior := normalPrior(grad, theta[:p], l.sd)
	w := theta[p]
	b := l.scale * math.Exp(-w)
	grad[p] = -l.shape + b
	return logPrior - l.shape*w - b
}
