package gibbs

import "github.com/dpreg/dpreg/internal/dense"

// metric is the whitening map F, lower triangular with F Fᵀ an estimate of the
// target's covariance from the draws of a warm-up window.
type metric struct {
	k      int
	factor []float64 // F, k×k

	count   float64 // the window's draws so far, by Welford's recursion
	mean    []float64
	delta   []float64
	scatter []float64 // k×k, lower triangle
	trial   []float64
}

func newMetric(k int) *metric {
	m := &metric{k: k, factor: make([]float64, k*k), mean: make([]float64, k), delta: make([]float64, k),
		scatter: make([]float64, k*k), trial: make([]float64, k*k)}
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
	}
	for i, v := range x {
		axpy(m.scatter[i*m.k:i*m.k+i+1], v-m.mean[i], m.delta[:i+1])
	}
}

// update replaces F by the factor of the window's covariance and starts a new
// window. The correlations are shrunk towards 0 by n/(n + 5 + k), so that the
// estimate is positive definite and well conditioned at every window length; a
// window in which some coordinate never moved leaves F as it is, and reports false.
func (m *metric) update() bool {
	k := m.k
	shrink := m.count / (m.count + 5 + float64(k))
	for i := range k {
		for j := range i {
			m.trial[i*k+j] = shrink * m.scatter[i*k+j] / (m.count - 1)
		}
		m.trial[i*k+i] = m.scatter[i*k+i] / (m.count - 1)
	}
	ok := dense.Cholesky(m.trial, k)
	if ok {
		for i := range k {
			copy(m.factor[i*k:i*k+i+1], m.trial[i*k:i*k+i+1])
		}
	}
	m.count = 0
	clear(m.mean)
	clear(m.scatter)
	return ok
}
