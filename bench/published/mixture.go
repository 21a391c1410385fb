package main

import "math"

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

// newMixture is for records v, n × d, row-major, and k ≥ 2.
func newMixture(v []float64, d, k int, sd float64) *mixture {
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

// The mixture is fitted, and not shown.
func (m *mixture) Names() []string                { return make([]string, m.Dim()) }
func (m *mixture) Constrain(dst, theta []float64) { copy(dst, theta) }

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
	logPrior := 0.
	for j, v := range mean {
		gradMean[j] = -v / (m.sd * m.sd)
		logPrior -= v * v / (2 * m.sd * m.sd)
	}
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

// simplex is x on the simplex of K parts, by breaking K−1 times a part off a stick:
//
//	x_k = z_k ∏_{j<k} (1 − z_j),  z_k = 1/(1 + (K−k) e^{−u_k}),  z_K = 1,
//
// k = 1, …, K; u = 0 is the middle. log x_k has the gradient 1 − z_k in u_k and −z_j in
// u_j, j < k. The log Jacobian is Σ_k log x_k, so the Dirichlet law of parameters α has
// the density Π x_k^α_k in u, up to a constant.
type simplex struct {
	log []float64 // log x_k, length K
	z   []float64 // length K−1
}

func newSimplex(parts int) simplex {
	return simplex{log: make([]float64, parts), z: make([]float64, parts-1)}
}

// set finds log x and z from u, length K−1.
func (s simplex) set(u []float64) {
	rest := 0. // log of what is left of the stick
	for k, v := range u {
		v -= math.Log(float64(len(u) - k))
		s.z[k] = 1 / (1 + math.Exp(-v))
		s.log[k] = rest - softplus(-v)
		rest -= softplus(v)
	}
	s.log[len(u)] = rest
}

// pull writes the gradient in u of a function with gradient f in log x.
func (s simplex) pull(dst, f []float64) {
	after := f[len(s.z)]
	for k := len(s.z) - 1; k >= 0; k-- {
		dst[k] = f[k]*(1-s.z[k]) - s.z[k]*after
		after += f[k]
	}
}

// softplus is log(1 + e^x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
