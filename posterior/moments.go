package posterior

import "math"

// mean returns the average of x, as x₀ plus the average difference from x₀.
// So it is exact for constant x, and constant chains have variance 0 and not
// rounding. Four sums run side by side, for one would wait for each addition.
func mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	first := x[0]
	if math.IsInf(first, 0) {
		first = 0
	}
	var a, b, c, d float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		four := x[i : i+4 : i+4]
		a += four[0] - first
		b += four[1] - first
		c += four[2] - first
		d += four[3] - first
	}
	for ; i < len(x); i++ {
		a += x[i] - first
	}
	return first + (a+b+c+d)/float64(len(x))
}

// variance returns the unbiased variance of x about its mean m, NaN where x
// holds fewer than two values.
func variance(x []float64, m float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	var sum float64
	for _, v := range x {
		d := v - m
		sum += d * d
	}
	return sum / float64(len(x)-1)
}

// constantRange is the range below which values count as constant: ε = 2⁻⁵²,
// an absolute bound, as R's posterior has it.
const constantRange = 0x1p-52

// extremes returns the least and greatest value of x, NaN where one is NaN.
func extremes(x []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range x {
		if v != v {
			return v, v
		}
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	return low, high
}

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
