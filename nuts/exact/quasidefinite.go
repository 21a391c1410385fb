package exact

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
)

// A quasidefinite matrix [M, U; Uᵀ, −C⁻¹], C diagonal and M + UCUᵀ positive definite, is LΔLᵀ without any
// exchange of rows (Vanderbei 1995, SIAM J. Optim. 5, 100–113). Δ has 1 where a row is M's, whose weight is 0,
// and elsewhere the sign of −C.
func sign(weight float64) float64 {
	if weight > 0 {
		return -1
	}
	return 1
}

// factorSigned factors a matrix, of which the lower triangle is given, in place, and returns the log of its
// determinant's size. It reports false where a pivot has another sign than Δ.
func factorSigned(a []float64, n int, weight []float64) (logAbs float64, ok bool) {
	for j := range n {
		row := a[j*n : j*n+j+1]
		for i, v := range row[:j] {
			for h, w := range a[i*n : i*n+i] {
				v -= row[h] * w * sign(weight[h])
			}
			row[i] = v / (a[i*n+i] * sign(weight[i]))
		}
		v := row[j]
		for h, w := range row[:j] {
			v -= w * w * sign(weight[h])
		}
		if v *= sign(weight[j]); !(v > 0 && v <= math.MaxFloat64) {
			return 0, false
		}
		row[j] = math.Sqrt(v)
		logAbs += math.Log(v)
	}
	return logAbs, true
}

// solveSigned solves for b in place.
func solveSigned(l []float64, n int, weight, b []float64) {
	dense.SolveLower(l, n, b)
	for i := range b {
		b[i] *= sign(weight[i])
	}
	dense.SolveLowerT(l, n, b)
}

// invertSigned writes the inverse, n×n.
func invertSigned(dst, l []float64, n int, weight, work []float64) {
	dense.InvertLower(work, l, n)
	clear(dst)
	for h := range n {
		row := work[h*n : h*n+h+1]
		for i, v := range row {
			addScaled(dst[i*n:i*n+h+1], sign(weight[h])*v, row)
		}
	}
}
