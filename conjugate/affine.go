package conjugate

import (
	"errors"

	"github.com/dpreg/dpreg/internal/dense"
	"gonum.org/v1/gonum/mat"
)

// invert returns the inverse of the n×n matrix a, which is not changed.
func invert(a []float64, n int) ([]float64, error) {
	inverse := make([]float64, n*n)
	// Beside singular matrices gonum reports ill-conditioned ones, inverted
	// all the same: bounds far from zero make such units, legitimately.
	err := mat.NewDense(n, n, inverse).Inverse(mat.NewDense(n, n, append([]float64(nil), a...)))
	if condition, ok := err.(mat.Condition); err != nil && (!ok || condition > maxCondition) {
		return nil, errors.New("change of units: the matrix is singular")
	}
	return inverse, nil
}

// maxCondition is where an inverse has no correct digit left.
const maxCondition = 1e16

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

func transpose(a []float64, n int) []float64 {
	t := make([]float64, n*n)
	for i := range n {
		for j := range n {
			t[j*n+i] = a[i*n+j]
		}
	}
	return t
}
