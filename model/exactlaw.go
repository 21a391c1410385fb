package model

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// RandExact draws the statistics of n rows v ~ N(μ, V) from their exact law,
// after Factor and for n > m: the sample mean is N(μ, V/n) and, independent of
// it, the scatter about that mean is Wishart(n−1, V) = LA(LA)ᵀ with V = LLᵀ and
// Bartlett's factor A.
func (t *Moments) RandExact(dst []float64, n float64, rng *rand.Rand) {
	m, l, mean := t.Shape.M(), t.Chol, t.lg
	for j := range t.g {
		t.g[j] = rng.NormFloat64() / math.Sqrt(n)
	}
	dense.MulLowerVec(mean, l, m, t.g)
	for j := range mean {
		mean[j] += t.Mean[j]
		dst[j] = n * mean[j]
	}
	variate.WishartFactor(t.low, m, n-1, rng)
	for j := range m {
		for k := 0; k <= j; k++ {
			a := 0.0
			for i := k; i <= j; i++ {
				a += l[j*m+i] * t.low[i*m+k]
			}
			t.prod[j*m+k] = a
		}
	}
	at := m
	for j := range m {
		for k := j; k < m; k++ {
			a := n * mean[j] * mean[k]
			for i := 0; i <= j; i++ {
				a += t.prod[j*m+i] * t.prod[k*m+i]
			}
			dst[at] = a
			at++
		}
	}
}
