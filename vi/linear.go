package vi

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// linearRegression is y ~ N(xᵀθ, σ²), θ | σ² ~ N(0, sd² σ² I), σ² ~ InvGamma(a, b), in the
// unconstrained parameters (β, w), β = θ/σ and w = log σ²: gradients are then as long as
// rows, about, whatever σ is, and one clipping norm serves. With e = y/σ − xᵀβ,
//
//	log p(y | β, w) = −½ log 2π − w/2 − e²/2,
//
// whose gradients are e·x in β and e·y/2σ − ½ in w; the prior of w, with the Jacobian, is
// −aw − b e^{−w} up to a constant.
type linearRegression struct {
	rows         *Rows
	sd           float64
	shape, scale float64
}

// LinearRegression returns the regression with normal errors of unknown variance, with
// priors N(0, sd² σ² I) of coefficients and InvGamma(shape, scale) of σ². It panics unless X is len(Y) × P.
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
	p := l.rows.P
	sigma := math.Exp(theta[p] / 2)
	for j, b := range theta[:p] {
		dst[j] = sigma * b
	}
	dst[p] = sigma * sigma
}

func (l *linearRegression) LogLik(grad, theta []float64, i int) float64 {
	p, x, w := l.rows.P, l.rows.row(i), theta[l.rows.P]
	y := l.rows.Y[i] * math.Exp(-w/2)
	e := y - floats.Dot(x, theta[:p])
	for j, v := range x {
		grad[j] = e * v
	}
	grad[p] = (e*y - 1) / 2
	return -(math.Log(2*math.Pi) + w + e*e) / 2
}

func (l *linearRegression) LogPrior(grad, theta []float64) float64 {
	p := l.rows.P
	logPrior := normalPrior(grad, theta[:p], l.sd)
	w := theta[p]
	b := l.scale * math.Exp(-w)
	grad[p] = -l.shape + b
	return logPrior - l.shape*w - b
}
