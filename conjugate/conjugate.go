// Package conjugate holds the two conjugate families of the regression model:
// NIG, normal-inverse-gamma, for the coefficients and the residual variance,
// and NIW, normal-inverse-Wishart, for the mean and covariance of the
// covariates. Both update on sufficient statistics, are drawn from, and change
// units by affine maps.
package conjugate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/dense"
)

// symmetryTolerance bounds |a_jk − a_kj| relative to the larger of the two:
// what remains of a matrix written to 12 digits and read back.
const symmetryTolerance = 1e-12

// checkVector refuses elements that are not finite.
func checkVector(name string, x []float64) error {
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s[%d] is %v: it must be finite", name, i, v)
		}
	}
	return nil
}

// checkAbove refuses a number that is not finite and above a limit.
func checkAbove(name string, v, limit float64) error {
	if !(v > limit) || math.IsInf(v, 1) {
		return fmt.Errorf("%s is %v: it must be finite and greater than %v", name, v, limit)
	}
	return nil
}

// PositiveDefinite returns a copy of the n×n matrix a, its lower triangle
// mirrored, or an error that says why it is no symmetric positive definite
// matrix.
func PositiveDefinite(name string, a []float64, n int) ([]float64, error) {
	if len(a) != n*n {
		return nil, fmt.Errorf("%s has %d elements: a mean of length %d needs %d by %d", name, len(a), n, n, n)
	}
	if err := checkVector(name, a); err != nil {
		return nil, err
	}
	for j := range n {
		for k := range j {
			u, v := a[j*n+k], a[k*n+j]
			if math.Abs(u-v) > symmetryTolerance*max(math.Abs(u), math.Abs(v)) {
				return nil, fmt.Errorf("%s is not symmetric: element (%d,%d) is %v, element (%d,%d) is %v", name, j, k, u, k, j, v)
			}
		}
	}
	b, l := slices.Clone(a), slices.Clone(a)
	dense.Symmetrise(b, n)
	if !dense.Cholesky(l, n) {
		values := make([]float64, n)
		if dense.SymEigen(values, make([]float64, n*n), b, n, l) {
			return nil, fmt.Errorf("%s is not positive definite: its smallest eigenvalue is %.6g", name, values[0])
		}
		return nil, fmt.Errorf("%s is not positive definite: its elements are too large to factor", name)
	}
	return b, nil
}

// invert returns the inverse of the n×n matrix a, which is not changed.
func invert(a []float64, n int) ([]float64, error) {
	inverse := make([]float64, n*n)
	if n == 0 {
		return inverse, nil
	}
	// Beside singular matrices gonum reports ill-conditioned ones, inverted
	// all the same: bounds far from zero make such units, legitimately.
	err := mat.NewDense(n, n, inverse).Inverse(mat.NewDense(n, n, slices.Clone(a)))
	if condition, ok := err.(mat.Condition); err != nil && (!ok || condition > maxCondition) {
		return nil, errors.New("change of units: the matrix is singular")
	}
	return inverse, nil
}

// maxCondition is where an inverse has no correct digit left.
const maxCondition = 1e16

// changed is a law in other units, or why there is none.
func changed[L any](law *L, err error) (*L, error) {
	if err != nil {
		return nil, fmt.Errorf("change of units: %w", err)
	}
	return law, nil
}

// congruence returns B A Bᵀ, exactly symmetric, for symmetric n×n A.
func congruence(b, a []float64, n int) []float64 {
	ba, out := make([]float64, n*n), make([]float64, n*n)
	dense.MulABt(ba, b, a, n, n, n) // A = Aᵀ
	dense.MulABt(out, ba, b, n, n, n)
	dense.Symmetrise(out, n)
	return out
}

func mulVec(a, x []float64) []float64 {
	y := make([]float64, len(x))
	dense.MulABt(y, a, x, len(x), 1, len(x))
	return y
}
