package gibbs

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
)

// metric is the whitening map F, lower triangular with F Fᵀ an estimate of the
// target's covariance from the draws of a warm-up window.
type metric struct {
	k      int
	factor []float64 // F, k×k

	count    float64 // the window's draws so far; moments by Welford's recursion
	mean     []float64
	scatter  []float64 // k×k, lower triangle
	absMean  []float64 // of absolute values
	absTotal []float64 // their sums of squares about the mean
	delta    []float64
	trial    []float64
}

func newMetric(k int) *metric {
	vec := func() []float64 { return make([]float64, k) }
	m := &metric{k: k, factor: make([]float64, k*k), mean: vec(), scatter: make([]float64, k*k),
		absMean: vec(), absTotal: vec(), delta: vec(), trial: make([]float64, k*k)}
	for i := range k {
		m.factor[i*k+i] = 1
	}
	return m
}

// push writes Fp.
func (m *metric) push(dst, p []float64) { dense.MulLowerVec(dst, m.factor, m.k, p) }

// pull writes Fᵀg.
func (m *metric) pull(dst, g []float64) { dense.MulLowerTVec(dst, m.factor, m.k, g) }

// add takes a draw into the window.
func (m *metric) add(x []float64) {
	m.count++
	for i, v := range x {
		m.delta[i] = v - m.mean[i]
		m.mean[i] += m.delta[i] / m.count
		d := math.Abs(v) - m.absMean[i]
		m.absMean[i] += d / m.count
		m.absTotal[i] += d * (math.Abs(v) - m.absMean[i])
	}
	for i, v := range x {
		axpy(m.scatter[i*m.k:i*m.k+i+1], v-m.mean[i], m.delta[:i+1])
	}
}

// update replaces F by the factor of the window's covariance and starts a new
// window. The correlations are shrunk towards 0 by n/(n + 5 + k), so that the
// estimate is positive definite and well conditioned at every window length; a
// window in which some coordinate never moved leaves F as it is, and reports
// false.
//
// A coordinate with two modes of opposite signs has the spread of one of them,
// that of its absolute value: steps are for moving within a mode, the flips lead
// from one to the other. (The absolute value of a normal coordinate has at least
// 0.36 of its variance.)
func (m *metric) update() bool {
	k := m.k
	shrink := m.count / (m.count + 5 + float64(k))
	copy(m.trial, m.scatter)
	for i := range k {
		for j := range i {
			m.trial[i*k+j] *= shrink
		}
	}
	for i := range k {
		if m.absTotal[i] < 0.25*m.scatter[i*k+i] {
			clear(m.trial[i*k : i*k+i])
			for j := i + 1; j < k; j++ {
				m.trial[j*k+i] = 0
			}
			m.trial[i*k+i] = m.absTotal[i]
		}
	}
	ok := dense.Cholesky(m.trial, k)
	if ok {
		scale := 1 / math.Sqrt(m.count-1)
		for i := range k {
			for j := range i + 1 {
				m.factor[i*k+j] = scale * m.trial[i*k+j]
			}
		}
	}
	m.count = 0
	for _, v := range [][]float64{m.mean, m.scatter, m.absMean, m.absTotal} {
		clear(v)
	}
	return ok
}
