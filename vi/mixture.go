package vi

import (
	"fmt"
	"math"
	"slices"
)

// mixture is a mixture of K spherical normal laws in R^d, the components summed out (d3p,
// appendix A):
//
//	v ~ Σ_k π_k N(μ_k, τ_k I),  π ~ Dirichlet(1), μ_k ~ N(0, sd² I), τ_k ~ InvGamma(1, 1),
//
// with θ = (u, μ_1, …, μ_K, log τ), π being simplex of u.
type mixture struct {
	v    []float64 // n × d
	k, d int
	sd   float64

	weights simplex
	r       []float64 // by component
}

// Mixture returns the mixture of k ≥ 2 components for records v, n × d, row-major. It
// panics where sizes do not fit.
func Mixture(v []float64, d, k int, sd float64) Model {
	if d < 1 || k < 2 || len(v)%d != 0 {
		panic(fmt.Sprintf("vi: a mixture of %d components for %d numbers in dimension %d", k, len(v), d))
	}
	return &mixture{v: v, k: k, d: d, sd: sd, weights: newSimplex(k), r: make([]float64, k)}
}

func (m *mixture) Dim() int { return m.k - 1 + m.k*m.d + m.k }
func (m *mixture) Len() int { return len(m.v) / m.d }

// parts cuts θ, or a gradient, into u, means and log variances.
func (m *mixture) parts(theta []float64) (u, mean, logVariance []float64) {
	means := m.k - 1
	scales := means + m.k*m.d
	return theta[:means], theta[means:scales], theta[scales:]
}

func (m *mixture) Names() []string {
	var means []string
	for i := range m.k * m.d {
		means = append(means, fmt.Sprintf("mean[%d,%d]", i/m.d, i%m.d))
	}
	return slices.Concat(indexed("weight", m.k), means, indexed("variance", m.k))
}

func (m *mixture) Constrain(dst, theta []float64) {
	u, mean, logVariance := m.parts(theta)
	m.weights.set(u)
	for k, l := range m.weights.log {
		dst[k] = math.Exp(l)
	}
	copy(dst[m.k:], mean)
	for k, w := range logVariance {
		dst[m.k+m.k*m.d+k] = math.Exp(w)
	}
}

// LogLik has, with the responsibilities r_k ∝ π_k N(v; μ_k, τ_k I), the gradients r_k in
// log π_k, r_k (v − μ_k)/τ_k in μ_k and r_k (|v − μ_k|²/τ_k − d)/2 in log τ_k.
func (m *mixture) LogLik(grad, theta []float64, i int) float64 {
	u, mean, logVariance := m.parts(theta)
	gradU, gradMean, gradVariance := m.parts(grad)
	v := m.v[i*m.d : (i+1)*m.d]
	m.weights.set(u)
	top := math.Inf(-1)
	for k := range m.k {
		square, precision := 0., math.Exp(-logVariance[k])
		for j, c := range mean[k*m.d : (k+1)*m.d] {
			square += (v[j] - c) * (v[j] - c)
			gradMean[k*m.d+j] = (v[j] - c) * precision
		}
		square *= precision
		gradVariance[k] = (square - float64(m.d)) / 2
		m.r[k] = m.weights.log[k] - (square+float64(m.d)*(logVariance[k]+math.Log(2*math.Pi)))/2
		top = max(top, m.r[k])
	}
	sum := 0.
	for k, l := range m.r {
		m.r[k] = math.Exp(l - top)
		sum += m.r[k]
	}
	for k := range m.r {
		m.r[k] /= sum
		for j := range m.d {
			gradMean[k*m.d+j] *= m.r[k]
		}
		gradVariance[k] *= m.r[k]
	}
	m.weights.pull(gradU, m.r)
	return top + math.Log(sum)
}

func (m *mixture) LogPrior(grad, theta []float64) float64 {
	u, mean, logVariance := m.parts(theta)
	gradU, gradMean, gradVariance := m.parts(grad)
	m.weights.set(u)
	logPrior := normalPrior(gradMean, mean, m.sd)
	for k, l := range m.weights.log {
		logPrior += l
		m.r[k] = 1
	}
	m.weights.pull(gradU, m.r)
	for k, w := range logVariance {
		b := math.Exp(-w)
		gradVariance[k] = -1 + b
		logPrior -= w + b
	}
	return logPrior
}
