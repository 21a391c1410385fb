package posterior

import "math"

// Quantile returns the p-quantile of sorted, which is in increasing order,
// by Hyndman and Fan's definition 7 (1996, The American Statistician 50(4)),
// R's default: linear interpolation at position (n-1)p. It is NaN where
// sorted is empty or p is not in [0, 1].
func Quantile(sorted []float64, p float64) float64 {
	n := len(sorted)
	if n == 0 || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	position := float64(n-1) * p
	low := int(position)
	value := sorted[low]
	// Equal neighbours are not interpolated, for rounding must not move the
	// quantile off a value that it is compared with.
	if h := position - float64(low); h > 0 && sorted[low+1] != value {
		value = float64((1-h)*value) + float64(h*sorted[low+1])
	}
	return value
}
