package calibration

import (
	"math"

	"github.com/dpreg/dpreg/posterior"
)

// MMD2 returns the unbiased estimate of the squared maximum mean discrepancy between
// the laws of x and y (Gretton, Borgwardt, Rasch, Schölkopf & Smola 2012, A Kernel
// Two-Sample Test, JMLR 13, equation 3),
//
//	1/(m(m−1)) Σ_{i≠j} k(x_i, x_j) + 1/(n(n−1)) Σ_{i≠j} k(y_i, y_j) − 2/(mn) Σ_ij k(x_i, y_j),
//
// with the standard normal kernel k(a, b) = exp(−½|a − b|²). Its mean is 0 where the
// laws are one, and so it may be negative. Both samples need two points at least.
func MMD2(x, y [][]float64) float64 {
	m, n := float64(len(x)), float64(len(y))
	return 2*kernelPairs(x)/(m*(m-1)) + 2*kernelPairs(y)/(n*(n-1)) - 2*kernelCross(x, y)/(m*n)
}

// Distance is MMD2 of Ranked draws of x and of y, evenly spaced, each a point of its first
// so many columns. It panics if either has fewer draws or columns.
func Distance(x, y *posterior.Draws, columns int) float64 {
	return MMD2(points(x, columns), points(y, columns))
}

// kernelPairs sums k over i < j.
func kernelPairs(x [][]float64) (sum float64) {
	for i := range x {
		for j := range i {
			sum += normalKernel(x[i], x[j])
		}
	}
	return sum
}

func kernelCross(x, y [][]float64) (sum float64) {
	for _, a := range x {
		for _, b := range y {
			sum += normalKernel(a, b)
		}
	}
	return sum
}

func normalKernel(a, b []float64) float64 {
	s := 0.0
	for k, v := range a {
		d := v - b[k]
		s += float64(d * d)
	}
	return math.Exp(-s / 2)
}
