package posterior

import "math"

// mean returns the average of x. The second pass makes it exact for
// constant x, so that constant chains have variance 0 and not rounding.
func mean(x []float64) float64 {
	n := float64(len(x))
	var sum, rest float64
	for _, v := range x {
		sum += v
	}
	m := sum / n
	if math.IsInf(m, 0) || math.IsNaN(m) {
		return m
	}
	for _, v := range x {
		rest += v - m
	}
	return m + rest/n
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
