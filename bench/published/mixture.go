package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/vi"
)

const clustersIntro = `Gaussian mixture of d3p (Prediger et al. 2022, appendix A), simulated: five clusters, 2000
records, 1000 steps, δ = 1e-3. Mean log-likelihood of 2000 other records. Noise is
simulated.`

func clustersStudy(from source) (*study, error) {
	data := newClusters(from.seed)
	s := &study{intro: clustersIntro, settings: []string{"eps"}, header: []string{"log-likelihood"}}
	for _, epsilon := range []float64{0, 0.1, 0.316, 1, 3.16, 4, 10} {
		s.arms = append(s.arms, one(func(ctx context.Context, seed uint64) (float64, error) { return data.fit(ctx, epsilon, seed) }, fmt.Sprint(epsilon)))
	}
	return s, nil
}

// clusters is the Gaussian mixture of d3p (Prediger et al., PETS 2022, appendix A; Jälkö
// et al. 2017): five spherical clusters of variance ½ in the plane, around (0, 0) and
// (±2, ±2), equally likely.
type clusters struct{ train, test []float64 }

// newClusters simulates 2000 records to train and 2000 to test; the authors test on 100.
func newClusters(seed uint64) *clusters {
	rng := rand.New(rand.NewPCG(seed, 0x636c))
	centres := [...][2]float64{{0, 0}, {2, 2}, {-2, -2}, {-2, 2}, {2, -2}}
	draw := func() (v []float64) {
		for range 2000 {
			c := centres[rng.IntN(len(centres))]
			v = append(v, c[0]+math.Sqrt(0.5)*rng.NormFloat64(), c[1]+math.Sqrt(0.5)*rng.NormFloat64())
		}
		return v
	}
	return &clusters{train: draw(), test: draw()}
}

// fit returns the mean log-likelihood of the test records at the fitted law's mean; epsilon 0
// is without privacy. The means of clusters start on a ring, turned by a random angle: from
// random points, gradients find local optima, with privacy or without.
func (c *clusters) fit(ctx context.Context, epsilon float64, seed uint64) (float64, error) {
	const number = 5
	m := newMixture(c.train, 2, number, 1)
	start := make([]float64, m.Dim())
	turn := rand.New(rand.NewPCG(seed, 0x7374)).Float64()
	for j := range number {
		angle := 2 * math.Pi * (turn + float64(j)) / number
		start[number-1+2*j], start[number+2*j] = 2*math.Cos(angle), 2*math.Sin(angle)
	}
	o := vi.Options{Rate: 0.05, Steps: 1000, Seed: seed, Start: start, LearningRate: 0.02, Average: 0.25}
	if epsilon > 0 {
		o.Clip = 3
		o.Privacy = &vi.Privacy{Epsilon: epsilon, Delta: 1e-3, Entropy: simulated(seed, entropyOfVI)}
	}
	fit, err := vi.Run(ctx, m, o)
	if err != nil {
		return 0, err
	}
	mean, _ := fit.Moments()
	test, sum, grad := newMixture(c.test, 2, number, 1), 0., make([]float64, m.Dim())
	for i := range test.Len() {
		sum += test.LogLik(grad, mean, i)
	}
	return sum / float64(test.Len()), nil
}

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
