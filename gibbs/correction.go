package gibbs

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// correction computes log w = log p(s | ·) − log p_CLT(s | ·), the exact over
// the CLT density of the statistics of n normal rows. Both have the sums
// s₁ ~ N(nμ, nV), which cancels. With the scatter A = S − s₁s₁ᵀ/n about the
// sample mean v̄, and A′ = A + n(v̄−μ)(v̄−μ)ᵀ about the true one,
//
//	exact: A ~ Wishart(n−1, V)
//	CLT:   A′ ~ N(nV, 2n V⊗V),  −(1/4n) tr[(V⁻¹(A′ − nV))²] − ½(m+1) log|V|.
//
// With V = LLᵀ, R = L⁻¹AL⁻ᵀ/n and δ = L⁻¹(v̄ − μ) the powers of |V| cancel:
//
//	log w = ½(n−m−2) log|R| − ½n (tr R − m) + ¼n ‖R + δδᵀ − I‖² + c(n),
//
// and −∞ where A is not positive definite: no data have such statistics.
type correction struct {
	m       int
	scatter []float64 // A, then its factor, then R
	delta   []float64
}

func newCorrection(m int) *correction {
	return &correction{m: m, scatter: make([]float64, m*m), delta: make([]float64, m)}
}

// logWeight returns log w − c(n) at statistics s, given moments after Factor.
func (c *correction) logWeight(s []float64, t *model.Moments, n float64) float64 {
	m, r := c.m, c.scatter
	model.Scatter(r, s, m, n)
	whiten(r, t.Chol, m)
	for j := range m {
		c.delta[j] = s[j]/n - t.Mean[j]
	}
	dense.SolveLower(t.Chol, m, c.delta)

	trace, square := 0.0, 0.0
	for j := range m {
		for k := range j + 1 {
			r[j*m+k] /= n
			e := r[j*m+k] + c.delta[j]*c.delta[k]
			if k == j {
				trace += r[j*m+j] - 1
				square += (e - 1) * (e - 1)
			} else {
				square += 2 * e * e
			}
		}
	}
	if !dense.Cholesky(r, m) {
		return math.Inf(-1)
	}
	return 0.5*(n-float64(m)-2)*dense.LogDet(r, m) - 0.5*n*trace + 0.25*n*square
}

// whiten replaces symmetric a by L⁻¹aL⁻ᵀ: forward substitution on its rows,
// then on the columns of what results, whose lower triangle is the answer's.
func whiten(a, l []float64, m int) {
	for j := range m {
		dense.SolveLower(l, m, a[j*m:j*m+m])
	}
	for i := range m {
		inv := 1 / l[i*m+i]
		for k := range m {
			v := a[i*m+k]
			for j := range i {
				v -= l[i*m+j] * a[j*m+k]
			}
			a[i*m+k] = v * inv
		}
	}
}
