package calibration

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// KS returns the one-sample Kolmogorov–Smirnov statistic of u against the
// uniform law on [0, 1], D = sup_x |F(x) − x|, and its p-value P(D_n ≥ D). Both
// are NaN where u is empty. u is not changed.
func KS(u []float64) (d, p float64) {
	if len(u) == 0 {
		return math.NaN(), math.NaN()
	}
	sorted := slices.Clone(u)
	slices.Sort(sorted)
	n := float64(len(sorted))
	for i, v := range sorted {
		d = max(d, float64(i+1)/n-v, v-float64(i)/n)
	}
	return d, ksTail(len(sorted), d)
}

// exactKS is the largest n of which the law of D_n is computed exactly: its
// matrices grow as √n, and beyond it the corrected limit is as good.
const exactKS = 1000

// ksTail returns P(D_n ≥ d).
//
// For n ≤ exactKS it is exact: where n·d² > 2.2 twice the one-sided tail, since that
// both sides reach d has a probability of some 2exp(−8nd²), below 1e-6 of the p-value;
// else by the law of Marsaglia, Tsang & Wang (2003), Evaluating Kolmogorov's
// Distribution, Journal of Statistical Software 8(18). Above, it is the limit
//
//	K(x) = 1 − 2 Σ_{j≥1} (−1)^{j−1} exp(−2j²x²)
//
// at x + 1/(6√n) + (x − 1)/(4n), x = √n d: errors of 3e-5 at n = 1000, and less
// beyond (Vrbik 2018, Small-Sample Corrections to Kolmogorov–Smirnov Test
// Statistic, Pioneer Journal of Theoretical and Applied Statistics 15).
func ksTail(n int, d float64) float64 {
	f := float64(n)
	switch {
	case d <= 0.5/f:
		return 1
	case d >= 1:
		return 0
	case n <= exactKS && f*d*d > 2.2:
		return min(1, 2*oneSidedTail(n, d))
	case n <= exactKS:
		return max(0, min(1, 1-ksExact(n, d)))
	}
	x := math.Sqrt(f) * d
	return ksLimitTail(x + 1/(6*math.Sqrt(f)) + (x-1)/(4*f))
}

// oneSidedTail returns P(sup_x F(x) − x ≥ d) for 0 < d < 1 (Birnbaum & Tingey 1951,
// Annals of Mathematical Statistics 22(4)),
//
//	d Σ_{j=0}^{⌊n(1−d)⌋} C(n,j) (d + j/n)^{j−1} (1 − d − j/n)^{n−j},
//
// a sum of positive terms.
func oneSidedTail(n int, d float64) float64 {
	f := float64(n)
	whole, _ := math.Lgamma(f + 1)
	sum := 0.0
	for j := 0.0; ; j++ {
		low, high := d+j/f, 1-d-j/f
		if high <= 0 {
			return d * sum
		}
		a, _ := math.Lgamma(j + 1)
		b, _ := math.Lgamma(f - j + 1)
		sum += math.Exp(whole - a - b + (j-1)*math.Log(low) + (f-j)*math.Log(high))
	}
}

// ksLimitTail is 1 − K(x). Below 0.3 it is 1 to ten digits, and the series slow.
func ksLimitTail(x float64) float64 {
	if x < 0.3 {
		return 1
	}
	sum, sign := 0.0, 1.0
	for j := 1.0; ; j++ {
		term := math.Exp(-2 * j * j * x * x)
		sum += sign * term
		if term < 1e-17 {
			return max(0, min(1, 2*sum))
		}
		sign = -sign
	}
}

// ksExact returns P(D_n < d) by Durbin's formula n!/nⁿ·(Hⁿ)_kk with
// d = (k − h)/n, 0 ≤ h < 1, H of size 2k − 1 (Marsaglia, Tsang & Wang), of which H/e
// is raised to its power: so no entry leaves the range of float64.
func ksExact(n int, d float64) float64 {
	f := float64(n)
	k := int(f*d) + 1
	size, h := 2*k-1, float64(k)-f*d
	a := mat.NewDense(size, size, nil)
	for i := range size {
		for j := range min(size, i+2) {
			v := 1.0
			if j == 0 {
				v -= math.Pow(h, float64(i+1))
			}
			if i == size-1 {
				v -= math.Pow(h, float64(size-j))
			}
			if j == 0 && i == size-1 && 2*h > 1 {
				v += math.Pow(2*h-1, float64(size))
			}
			a.Set(i, j, v/math.Gamma(float64(i-j+2))/math.E)
		}
	}
	a.Pow(a, n)
	factorial, _ := math.Lgamma(f + 1)
	return a.At(k-1, k-1) * math.Exp(factorial-f*math.Log(f)+f)
}

// KSCritical returns the d that D_n, of n uniform values, reaches with probability
// level, 0 < level < 1.
func KSCritical(n int, level float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; ksTail(n, middle) > level {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
