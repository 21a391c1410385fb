package pvi

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/vi"
)

// Likelihood is records whose log likelihoods f_i depend on θ through η = x_iᵀθ.
type Likelihood struct {
	Rows *vi.Rows
	// Slope is f′_i(η).
	Slope func(i int, eta float64) float64
}

// Normal is the likelihood of linear regression with noise of known standard deviation,
// y ~ N(xᵀθ, sd²), f′(η) = (y − η)/sd². Errors: rows that do not fit or are not finite, sd
// not positive and finite.
func Normal(rows *vi.Rows, sd float64) (Likelihood, error) {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return Likelihood{}, fmt.Errorf("the noise of y must have a positive standard deviation, not %v", sd)
	}
	precision := 1 / (sd * sd)
	return Likelihood{rows, func(i int, eta float64) float64 { return precision * (rows.Y[i] - eta) }}, check(rows)
}

// Logistic is the likelihood of logistic regression: y = 1 with probability σ(xᵀθ),
// σ(η) = 1/(1 + e^{−η}); a y between 0 and 1 counts as that share of a 1 and the rest of a
// 0. Errors: rows that do not fit or are not finite, a response outside [0, 1].
func Logistic(rows *vi.Rows) (Likelihood, error) {
	for i, y := range rows.Y {
		if !(y >= 0 && y <= 1) {
			return Likelihood{}, fmt.Errorf("row %d: a response of logistic regression lies between 0 and 1", i+1)
		}
	}
	return Likelihood{rows, func(i int, eta float64) float64 { return vi.BernoulliSlope(rows.Y[i], eta) }}, check(rows)
}

// errEmpty is of a client that would only add noise.
var errEmpty = errors.New("a client without data: leave it out, or give it records")

// check tells whether there are rows, which fit together and are finite.
func check(rows *vi.Rows) error {
	if len(rows.Y) == 0 {
		return errEmpty
	}
	if rows.P < 1 || len(rows.X) != rows.P*len(rows.Y) {
		return fmt.Errorf("%d entries of X for %d responses and %d covariates", len(rows.X), len(rows.Y), rows.P)
	}
	for _, values := range [][]float64{rows.X, rows.Y} {
		for i, v := range values {
			if v-v != 0 {
				return fmt.Errorf("row %d is not finite", i*len(rows.Y)/len(values)+1)
			}
		}
	}
	return nil
}

// sparse is rows without their zeros.
type sparse struct {
	start []int // of each row, and the end of the last
	index []int
	value []float64
}

func newSparse(rows *vi.Rows) *sparse {
	s := &sparse{start: []int{0}}
	for i, v := range rows.X {
		if v != 0 {
			s.index, s.value = append(s.index, i%rows.P), append(s.value, v)
		}
		if (i+1)%rows.P == 0 {
			s.start = append(s.start, len(s.index))
		}
	}
	return s
}

func (s *sparse) row(i int) (index []int, value []float64) {
	return s.index[s.start[i]:s.start[i+1]], s.value[s.start[i]:s.start[i+1]]
}
