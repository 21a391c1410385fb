package conjugate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// NIW is the normal-inverse-Wishart distribution of the mean μ (length p) and
// covariance T (p×p) of the covariates:
//
//	T ~ InvWishart(Scale, Dof),   μ | T ~ N(Mean, T/Kappa),
//
// where the density of T is proportional to
// |T|^{−(Dof+p+1)/2} exp(−½ tr(Scale T⁻¹)). As in NIG, whoever sets the fields
// by hand answers for their validity.
type NIW struct {
	Mean  []float64 // m, length p
	Kappa float64   // κ > 0, the mean's weight in rows
	Scale []float64 // Ψ, p×p row-major, symmetric positive definite
	Dof   float64   // ν > p − 1
}

// NewNIW copies its arguments into a NIW. That of no covariates is the law of nothing. Errors: a
// scale of another size, asymmetric or not positive definite (with its smallest
// eigenvalue), kappa not above 0, dof not above p − 1, anything not finite.
func NewNIW(mean []float64, kappa float64, scale []float64, dof float64) (*NIW, error) {
	m, err := PositiveDefinite("covariates scale", scale, len(mean))
	err = cmp.Or(checkVector("covariates mean", mean), checkAbove("covariates kappa", kappa, 0), err, checkAbove("covariates dof", dof, float64(len(mean)-1)))
	if err != nil {
		return nil, err
	}
	return &NIW{slices.Clone(mean), kappa, m, dof}, nil
}

// Dim returns the number p of covariates.
func (d *NIW) Dim() int { return len(d.Mean) }

// Clone returns a deep copy, such as NIWSampler.Update can write into.
func (d *NIW) Clone() *NIW {
	return &NIW{slices.Clone(d.Mean), d.Kappa, slices.Clone(d.Scale), d.Dof}
}

// Affine returns the law of (c + Hμ, HTHᵀ), a change of units: H is p×p
// row-major and invertible, c has length p. Mean becomes c + H Mean, Scale
// becomes H Scale Hᵀ. A slice that is too short panics. Errors: H singular,
// numbers that overflow.
func (d *NIW) Affine(h, c []float64) (*NIW, error) {
	mean := mulVec(h, d.Mean)
	floats.Add(mean, c)
	return changed(NewNIW(mean, d.Kappa, congruence(h, d.Scale, d.Dim()), d.Dof))
}

// AffineInverse returns the law that Affine(h, c) turns into d.
func (d *NIW) AffineInverse(h, c []float64) (*NIW, error) {
	p := d.Dim()
	inverse, err := invert(h, p)
	if err != nil {
		return nil, err
	}
	mean := floats.SubTo(make([]float64, p), d.Mean, c)
	return changed(NewNIW(mulVec(inverse, mean), d.Kappa, congruence(inverse, d.Scale, p), d.Dof))
}

// NIWSampler draws from one NIW law at a time. It holds the factor of that law's
// scale; after construction nothing allocates. It is not for use by several goroutines.
type NIWSampler struct {
	mean       []float64
	chol       []float64 // C, with Scale = C Cᵀ
	kappa, dof float64
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

// Set makes d, which it copies, the law of Rand. It reports false,
// and leaves the sampler without a law, unless the scale is positive
// definite, kappa > 0 and dof > p − 1.
func (s *NIWSampler) Set(d *NIW) bool {
	p := len(s.mean)
	s.dof = 0
	copy(s.chol, d.Scale)
	if !(dense.Cholesky(s.chol, p) && d.Kappa > 0 && d.Dof > float64(p-1)) {
		return false
	}
	copy(s.mean, d.Mean)
	s.kappa, s.dof = d.Kappa, d.Dof
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
	p, f := len(s.mean), s.factor
	variate.InverseWishartFactor(f, s.chol, p, s.dof, s.work, rng)
	variate.Normals(mu[:p], 1/math.Sqrt(s.kappa), rng)
	dense.MulLowerVec(mu, f, p, mu)
	floats.Add(mu, s.mean)
	dense.LLt(t, f, p)
}
