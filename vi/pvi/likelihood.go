package pvi

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/vi"
)

// Likelihood is records whose log likelihoods f_i depend on θ through x_iᵀθ.
type Likelihood interface {
	Dim() int
	Len() int
	// Covariates returns x_i, of length Dim.
	Covariates(i int) []float64
	// Slopes overwrites each η of eta with f′_i(η).
	Slopes(i int, eta []float64)
}

// regression is what all likelihoods share.
type regression struct{ rows *vi.Rows }

// Dim implements Likelihood.
func (r regression) Dim() int { return r.rows.P }

// Len implements Likelihood.
func (r regression) Len() int { return len(r.rows.Y) }

// Covariates implements Likelihood.
func (r regression) Covariates(i int) []float64 {
	return r.rows.X[i*r.rows.P : (i+1)*r.rows.P]
}

// Normal is the likelihood of linear regression with noise of known standard deviation.
type Normal struct {
	regression
	precision float64
}

// NewNormal has y ~ N(xᵀθ, sd²). Errors: rows that do not fit or are not finite, sd not
// positive and finite.
func NewNormal(rows *vi.Rows, sd float64) (*Normal, error) {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return nil, fmt.Errorf("the noise of y must have a positive standard deviation, not %v", sd)
	}
	return &Normal{regression{rows}, 1 / (sd * sd)}, checkRows(rows)
}

// Slopes implements Likelihood: f′(η) = (y − η)/sd².
func (n *Normal) Slopes(i int, eta []float64) {
	for j, v := range eta {
		eta[j] = n.precision * (n.rows.Y[i] - v)
	}
}

// Logistic is the likelihood of logistic regression.
type Logistic struct{ regression }

// NewLogistic has y = 1 with probability σ(xᵀθ), σ(η) = 1/(1 + e^{−η}); a y between 0 and 1
// counts as that share of a 1 and the rest of a 0. Errors: rows that do not fit or are not
// finite, a response outside [0, 1].
func NewLogistic(rows *vi.Rows) (*Logistic, error) {
	for i, y := range rows.Y {
		if !(y >= 0 && y <= 1) {
			return nil, fmt.Errorf("row %d: a response of logistic regression lies between 0 and 1", i+1)
		}
	}
	return &Logistic{regression{rows}}, checkRows(rows)
}

// Slopes implements Likelihood: f′(η) = y − σ(η). Where e^{−η} overflows, σ is 0.
func (l *Logistic) Slopes(i int, eta []float64) {
	y := l.rows.Y[i]
	for j, v := range eta {
		eta[j] = y - 1/(1+math.Exp(-v))
	}
}
