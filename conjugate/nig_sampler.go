package conjugate

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// NIGSampler draws from one NIG law at a time and gives its density. It holds
// the factor of that law's precision and the space to update laws; after
// construction nothing allocates. It is not for use by several goroutines.
type NIGSampler struct {
	mean         []float64
	chol         []float64 // L, with Precision = L Lᵀ
	shape, scale float64
	norm         float64 // log of the density's constant; NaN until asked for
	work         []float64
}

// NewNIGSampler returns a sampler for q coefficients, as yet without a law.
func NewNIGSampler(q int) *NIGSampler {
	return &NIGSampler{
		mean: make([]float64, q),
		chol: make([]float64, q*q),
		work: make([]float64, 2*q),
	}
}

// Set makes d, which it copies, the law of Rand and LogDensity. It reports
// false, and leaves the sampler without a law, unless the precision is positive
// definite and shape and scale are above zero.
func (s *NIGSampler) Set(d *NIG) bool {
	s.shape = 0
	copy(s.chol, d.Precision)
	return dense.Cholesky(s.chol, len(s.mean)) && s.adopt(d)
}

// adopt takes over all of d but the precision, whose factor s holds. Shape 0
// marks a sampler without a law.
func (s *NIGSampler) adopt(d *NIG) bool {
	if !(d.Shape > 0 && d.Scale > 0) {
		return false
	}
	copy(s.mean, d.Mean)
	s.shape, s.scale, s.norm = d.Shape, d.Scale, math.NaN()
	return true
}

// Update writes into dst the law of (θ, σ²) given n rows of a regression with
// prior law prior, and makes it the sampler's as Set does. xx = XᵀX is q×q (its
// lower triangle alone is read; the constant is a column of X like another),
// xy = Xᵀy has length q, yy = yᵀy; n need not be whole. dst and prior must not
// share memory.
//
// It reports false, with dst partly overwritten, if the posterior is improper:
// its precision not positive definite or its scale not positive, which noisy
// statistics can bring about and exact ones cannot but by rounding.
//
// With δ = Λ_n⁻¹(Xᵀy − XᵀXμ₀),
//
//	Λ_n = Λ₀ + XᵀX,   μ_n = μ₀ + δ,   a_n = a₀ + n/2,
//	b_n = b₀ + ½[RSS(μ_n) + δᵀΛ₀δ],
//	RSS(μ) = yᵀy − μᵀ(Xᵀy + (Xᵀy − XᵀXμ)).
//
// The usual yᵀy + μ₀ᵀΛ₀μ₀ − μ_nᵀΛ_nμ_n is the same number, but cancels the
// prior's part, which may exceed b_n by any factor, and takes errors of μ_n in
// full. Here the prior's part is a sum of squares, μ_n stands at the minimum of
// the bracket, so that its errors count in second order only, and what cancels
// is yᵀy with the explained part: an error of a few units in the last place of
// yᵀy + |μ_n|ᵀ|XᵀX||μ_n|, no more than rounding xx, xy and yy brings in.
func (s *NIGSampler) Update(dst, prior *NIG, xx, xy []float64, yy, n float64) bool {
	s.shape = 0
	q := len(s.mean)
	for i, v := range prior.Precision[:q*q] {
		dst.Precision[i] = v + xx[i]
	}
	dense.Symmetrise(dst.Precision, q)
	copy(s.chol, dst.Precision)
	if !dense.Cholesky(s.chol, q) {
		return false
	}
	delta, fit := s.work[:q], s.work[q:][:q]
	dense.SymMulVec(fit, xx, q, prior.Mean)
	for i, v := range fit {
		delta[i] = xy[i] - v
	}
	dense.SolveLower(s.chol, q, delta)
	dense.SolveLowerT(s.chol, q, delta)
	for i, v := range delta {
		dst.Mean[i] = prior.Mean[i] + v
	}
	dense.SymMulVec(fit, xx, q, dst.Mean)
	rss := yy
	for i, m := range dst.Mean[:q] {
		rss -= m * (xy[i] + (xy[i] - fit[i]))
	}
	dst.Shape = prior.Shape + n/2
	dst.Scale = prior.Scale + (rss+dense.QuadForm(prior.Precision, q, delta))/2
	return s.adopt(dst)
}

// Rand draws θ into theta (length q) and returns σ². It panics if the sampler
// has no law.
func (s *NIGSampler) Rand(theta []float64, rng *rand.Rand) (sigma2 float64) {
	sigma2 = variate.InverseGamma(s.shape, s.scale, rng)
	sigma := math.Sqrt(sigma2)
	theta = theta[:len(s.mean)]
	for i := range theta {
		theta[i] = sigma * rng.NormFloat64()
	}
	// Var(L⁻ᵀz) = (LLᵀ)⁻¹.
	dense.SolveLowerT(s.chol, len(theta), theta)
	for i, m := range s.mean {
		theta[i] += m
	}
	return sigma2
}

// LogDensity returns the log density at (θ, σ²), with respect to dθ dσ²; −Inf
// where σ² is not positive. With d = θ − μ,
//
//	a log b − log Γ(a) + ½ log|Λ| − (q/2) log 2π
//	  − (a + 1 + q/2) log σ² − (b + ½ dᵀΛd)/σ².
func (s *NIGSampler) LogDensity(theta []float64, sigma2 float64) float64 {
	if !(sigma2 > 0) {
		return math.Inf(-1)
	}
	q := len(s.mean)
	if math.IsNaN(s.norm) {
		lg, _ := math.Lgamma(s.shape)
		s.norm = s.shape*math.Log(s.scale) - lg + dense.LogDet(s.chol, q)/2 - float64(q)/2*math.Log(2*math.Pi)
	}
	d := s.work[:q]
	for i, m := range s.mean {
		d[i] = theta[i] - m
	}
	dense.MulLowerTVec(d, s.chol, q, d)
	return s.norm - (s.shape+1+float64(q)/2)*math.Log(sigma2) - (s.scale+squares(d)/2)/sigma2
}

// squares returns xᵀx.
func squares(x []float64) (s float64) {
	for _, v := range x {
		s += v * v
	}
	return s
}
