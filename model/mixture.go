package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// Mixture is the conjugate law that a Prior is given its free scales a. Each a divides
// one energy e of −log p, so that given the parameters φ all are independent,
//
//	a | φ ~ InvGamma(k, Q),   Q = 1/A² + e,   ν the scale's degrees of freedom,
//	b₀            e = b₀/σ²                            k = ½ν + a₀
//	Ψ₀            e = ½ Σ_j Ψ_jj (T⁻¹)_jj              k = ½ν + ½ν₀ · (number of j)
//	coefficients  e = ½ (θ−μ₀)ᵀ Precision (θ−μ₀)/c     k = ½ν + ½ · (number of them),
//
// c = 1 where Unscaled, else σ². Integrated out, a leaves −k log Q of −e in log p(φ).
//
// A Mixture holds a workspace, so each chain needs its own; after construction nothing
// allocates.
type Mixture struct {
	Theta      *conjugate.NIG // at a; where the prior is Unscaled, θ's law has no factor σ
	Covariates *conjugate.NIW // at a; nil where the prior has none
	A          []float64      // in the order of Prior.Scales

	prior           *Prior
	fixed           []float64 // the part of Λ₀ that no a divides
	apart           []float64 // θ − μ₀
	factor, inverse []float64 // L of T, L⁻¹
}

// NewMixture allocates for a prior, at typical scales.
func NewMixture(prior *Prior) *Mixture {
	m := &Mixture{Theta: prior.Theta.Clone(), A: make([]float64, len(prior.Scales)), prior: prior, fixed: prior.fixed(), apart: make([]float64, prior.Theta.Dim())}
	if x := prior.Covariates; x != nil {
		p := x.Dim()
		m.Covariates, m.factor, m.inverse = x.Clone(), make([]float64, p*p), make([]float64, p*p)
	}
	m.typical(true)
	m.typical(false)
	return m
}

// Conjugate reports whether the prior is conjugate as it stands: no free scale, and θ's
// law has the factor σ.
func (p *Prior) Conjugate() bool { return !p.Unscaled && len(p.Scales) == 0 }

// Rate is 1/A², the scale of a's inverse gamma law.
func (s *Scale) Rate() float64 { return 1 / (s.SD * s.SD) }

// Shape is ½ν, the shape of a's inverse gamma law.
func (s *Scale) Shape() float64 { return 0.5 * max(s.Dof, 1) }

// Exponent is k, see Mixture.
func (p *Prior) Exponent(s *Scale) float64 {
	switch k := s.Shape(); {
	case s.Sigma:
		return k + p.Theta.Shape
	case len(s.Covariates) > 0:
		return k + 0.5*p.Covariates.Dof*float64(len(s.Covariates))
	default:
		return k + 0.5*float64(len(s.Coefficients))
	}
}

// Factor is c, which θ's precision is relative to.
func (p *Prior) Factor(sigma2 float64) float64 {
	if p.Unscaled {
		return 1
	}
	return sigma2
}

// energy is e of a scale of σ or of coefficients, at θ − μ₀ = apart.
func (p *Prior) energy(s *Scale, apart []float64, sigma2 float64) float64 {
	if s.Sigma {
		return p.Theta.Scale / sigma2
	}
	return 0.5 * s.square(apart) / p.Factor(sigma2)
}

// square returns eᵀ Precision e of the scale's coefficients, e of length q.
func (s *Scale) square(e []float64) (sum float64) {
	n := len(s.Coefficients)
	for r, k := range s.Coefficients {
		for c, l := range s.Coefficients {
			sum += e[k] * s.Precision[r*n+c] * e[l]
		}
	}
	return sum
}

func (s *Scale) typical() float64 { return s.Rate() / s.Shape() }

// typical takes every a of the covariates, or of all else, at the mean of 1/a under its prior, ½νA².
func (m *Mixture) typical(covariates bool) { m.each(covariates, (*Scale).typical) }

// DrawPrior draws every a from its prior.
func (m *Mixture) DrawPrior(rng *rand.Rand) {
	draw := func(s *Scale) float64 { return variate.InverseGamma(s.Shape(), s.Rate(), rng) }
	m.each(false, draw)
	m.each(true, draw)
}

// DrawRegression draws the scales of σ and of coefficients given (θ, σ²); that of σ is the
// typical one instead where border says so, see Conditionals.
func (m *Mixture) DrawRegression(theta []float64, sigma2 float64, border bool, rng *rand.Rand) {
	floats.SubTo(m.apart, theta, m.prior.Theta.Mean)
	m.each(false, func(s *Scale) float64 {
		if s.Sigma && border {
			return s.typical()
		}
		return variate.InverseGamma(m.prior.Exponent(s), s.Rate()+m.prior.energy(s, m.apart, sigma2), rng)
	})
}

// DrawCovariates draws the scales of the covariates given T. It reports false, and draws
// nothing, where T is not positive definite.
func (m *Mixture) DrawCovariates(tau []float64, rng *rand.Rand) bool {
	if !m.prior.free(true) {
		return true
	}
	p := m.Covariates.Dim()
	copy(m.factor, tau)
	if !dense.Cholesky(m.factor, p) {
		return false
	}
	dense.InvertLower(m.inverse, m.factor, p)
	m.each(true, func(s *Scale) float64 {
		energy := 0.0
		for _, j := range s.Covariates { // (T⁻¹)_jj = Σ_i (L⁻¹)_ij²
			sum := 0.0
			for i := j; i < p; i++ {
				sum += m.inverse[i*p+j] * m.inverse[i*p+j]
			}
			energy += 0.5 * m.prior.Covariates.Scale[j*p+j] * sum
		}
		return variate.InverseGamma(m.prior.Exponent(s), s.Rate()+energy, rng)
	})
	return true
}

// fixed is the part of Λ₀ that no free scale divides.
func (p *Prior) fixed() []float64 {
	fixed := slices.Clone(p.Theta.Precision)
	for i := range p.Scales {
		p.Scales[i].AddPrecision(fixed, p.Theta.Dim(), -1)
	}
	return fixed
}

// AddPrecision adds c·Precision to Λ, q×q.
func (s *Scale) AddPrecision(lambda []float64, q int, c float64) {
	n := len(s.Coefficients)
	for r, k := range s.Coefficients {
		for i, l := range s.Coefficients {
			lambda[k*q+l] += c * s.Precision[r*n+i]
		}
	}
}

// free reports whether scales of the covariates, or of σ, are free.
func (p *Prior) free(covariates bool) bool {
	for i := range p.Scales {
		if s := &p.Scales[i]; covariates && len(s.Covariates) > 0 || !covariates && s.Sigma {
			return true
		}
	}
	return false
}

// each sets every a of the covariates, or of all else, and the laws with it.
func (m *Mixture) each(covariates bool, value func(s *Scale) float64) {
	for i := range m.prior.Scales {
		if s := &m.prior.Scales[i]; len(s.Covariates) > 0 == covariates {
			m.A[i] = value(s)
		}
	}
	if !covariates {
		m.setRegression()
	} else if m.Covariates != nil {
		m.setCovariates()
	}
}

func (m *Mixture) setRegression() {
	m.Theta.Scale = m.prior.Theta.Scale
	copy(m.Theta.Precision, m.fixed)
	for i := range m.prior.Scales {
		s := &m.prior.Scales[i]
		if s.Sigma {
			m.Theta.Scale = m.prior.Theta.Scale / m.A[i]
		}
		s.AddPrecision(m.Theta.Precision, m.Theta.Dim(), 1/m.A[i])
	}
}

// ofRows takes the law of (θ, σ²) to that of (θ, σ²w), until the next draw of scales.
func (m *Mixture) ofRows(logW float64) {
	w := math.Exp(logW)
	m.Theta.Scale *= w
	if !m.prior.Unscaled {
		floats.Scale(w, m.Theta.Precision)
	}
}

func (m *Mixture) setCovariates() {
	p := m.Covariates.Dim()
	for i, s := range m.prior.Scales {
		for _, j := range s.Covariates {
			m.Covariates.Scale[j*p+j] = m.prior.Covariates.Scale[j*p+j] / m.A[i]
		}
	}
}

// ThetaSD writes the prior sds of θ given σ² and the free scales as they are: the root of
// the diagonal of Λ₀(a)⁻¹, of σ²Λ₀(a)⁻¹ where the prior is not Unscaled. NaN where Λ₀(a) is
// not positive definite in float64. It allocates.
func (m *Mixture) ThetaSD(dst []float64, sigma2 float64) {
	q, c := m.Theta.Dim(), m.prior.Factor(sigma2)
	l, inverse := slices.Clone(m.Theta.Precision), make([]float64, q*q)
	if !dense.Cholesky(l, q) {
		c = math.NaN()
	}
	dense.InverseFromCholesky(inverse, l, q)
	for k := range q {
		dst[k] = math.Sqrt(c * inverse[k*q+k])
	}
}
