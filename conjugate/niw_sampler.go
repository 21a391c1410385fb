package conjugate

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// NIWSampler draws from one NIW law at a time and gives its density. It holds
// the factor of that law's scale; after construction nothing allocates. It is
// not for use by several goroutines.
type NIWSampler struct {
	mean       []float64
	chol       []float64 // C, with Scale = C Cᵀ
	kappa, dof float64
	norm       float64 // log of the density's constant; NaN until asked for
	factor     []float64
	work       []float64
}

// NewNIWSampler returns a sampler for p covariates, as yet without a law.
func NewNIWSampler(p int) *NIWSampler {
	return &NIWSampler{
		mean:   make([]float64, p),
		chol:   make([]float64, p*p),
		factor: make([]float64, p*p),
		work:   make([]float64, p),
	}
}

// Set makes d, which it copies, the law of Rand and LogDensity. It reports
// false, and leaves the sampler without a law, unless the scale is positive
// definite, kappa > 0 and dof > p − 1.
func (s *NIWSampler) Set(d *NIW) bool {
	p := len(s.mean)
	s.dof = 0
	copy(s.chol, d.Scale)
	if !(dense.Cholesky(s.chol, p) && d.Kappa > 0 && d.Dof > float64(p-1)) {
		return false
	}
	copy(s.mean, d.Mean)
	s.kappa, s.dof, s.norm = d.Kappa, d.Dof, math.NaN()
	return true
}

// Update writes into dst the law of (μ, T) given n rows x of which sx = Σx
// (length p) and sxx = Σxxᵀ (p×p, lower triangle alone read), with prior law
// prior, and makes it the sampler's as Set does. n need not be whole; 0 gives
// the prior back. dst and prior must not share memory. It reports false, with
// dst overwritten, if the posterior is improper, which noisy statistics can
// bring about.
//
// With δ = m_n − m₀ = (Σx − nm₀)/κ_n,
//
//	κ_n = κ₀ + n,   ν_n = ν₀ + n,   m_n = m₀ + δ,
//	Ψ_n = Ψ₀ + Σ(x−m_n)(x−m_n)ᵀ + κ₀δδᵀ,
//
// where, from Σx = nm_n + κ₀δ, the scatter about m_n is
//
//	Σxxᵀ − nm_nm_nᵀ − κ₀(δm_nᵀ + m_nδᵀ).
//
// The usual Ψ₀ + Σxxᵀ + κ₀m₀m₀ᵀ − κ_nm_nm_nᵀ would cancel the prior's part too.
func (s *NIWSampler) Update(dst, prior *NIW, n float64, sx, sxx []float64) bool {
	p, k := len(s.mean), prior.Kappa
	dst.Kappa, dst.Dof = k+n, prior.Dof+n
	kd := s.work
	for i, m := range prior.Mean[:p] {
		d := (sx[i] - n*m) / dst.Kappa
		dst.Mean[i] = m + d
		kd[i] = k * d
	}
	for i := range p {
		m, d := dst.Mean[i], kd[i]
		for j := range i + 1 {
			e := dst.Mean[j]
			scatter := sxx[i*p+j] - n*m*e - (d*e + m*kd[j])
			dst.Scale[i*p+j] = prior.Scale[i*p+j] + (scatter + d*kd[j]/k)
		}
	}
	dense.Symmetrise(dst.Scale, p)
	return s.Set(dst)
}

// Rand draws μ into mu (length p) and T, full and symmetric, into t (p×p). It
// panics if the sampler has no law.
func (s *NIWSampler) Rand(mu, t []float64, rng *rand.Rand) {
	s.RandFactor(mu, s.factor, rng)
	dense.LLt(t, s.factor, len(s.mean))
}

// RandFactor is Rand with the Cholesky factor of T, lower triangular with
// zeros above, in place of T: what a caller that needs the factor would
// compute next.
func (s *NIWSampler) RandFactor(mu, f []float64, rng *rand.Rand) {
	p := len(s.mean)
	variate.InverseWishartFactor(f, s.chol, p, s.dof, s.work, rng)
	r := 1 / math.Sqrt(s.kappa)
	for i := range p {
		mu[i] = r * rng.NormFloat64()
	}
	dense.MulLowerVec(mu, f, p, mu)
	for i, m := range s.mean {
		mu[i] += m
	}
}

// LogDensity returns the log density at (μ, T), with respect to dμ and the
// elements of T's lower triangle, which alone is read; −Inf where T is not
// positive definite.
func (s *NIWSampler) LogDensity(mu, t []float64) float64 {
	copy(s.factor, t)
	if !dense.Cholesky(s.factor, len(s.mean)) {
		return math.Inf(-1)
	}
	return s.LogDensityFactor(mu, s.factor)
}

// LogDensityFactor is LogDensity given the Cholesky factor F of T. With
// d = μ − m and Γ_p the multivariate gamma function,
//
//	½ν log|Ψ| − ½νp log 2 − log Γ_p(ν/2) + ½p log(κ/2π)
//	  − ½(ν+p+2) log|T| − ½(‖F⁻¹C‖² + κ‖F⁻¹d‖²).
func (s *NIWSampler) LogDensityFactor(mu, f []float64) float64 {
	p := len(s.mean)
	if math.IsNaN(s.norm) {
		s.norm = s.logNorm()
	}
	d := s.work
	for i, m := range s.mean {
		d[i] = mu[i] - m
	}
	dense.SolveLower(f, p, d)
	quad := s.kappa * squares(d)
	for j := range p {
		for i := range p {
			d[i] = 0
			if i >= j {
				d[i] = s.chol[i*p+j]
			}
		}
		dense.SolveLower(f, p, d)
		quad += squares(d)
	}
	return s.norm - (s.dof+float64(p)+2)/2*dense.LogDet(f, p) - quad/2
}

// logNorm returns what LogDensityFactor adds for every (μ, T), with
// log Γ_p(x) = ¼p(p−1) log π + Σ_{i<p} log Γ(x − i/2).
func (s *NIWSampler) logNorm() float64 {
	p := float64(len(s.mean))
	c := s.dof/2*dense.LogDet(s.chol, len(s.mean)) - s.dof*p/2*math.Ln2
	c -= p * (p - 1) / 4 * math.Log(math.Pi)
	for i := range s.mean {
		lg, _ := math.Lgamma((s.dof - float64(i)) / 2)
		c -= lg
	}
	return c + p/2*math.Log(s.kappa/(2*math.Pi))
}
