package conjugate

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// NIG is the normal-inverse-gamma distribution of regression coefficients θ
// (length q) and residual variance σ²:
//
//	σ² ~ InvGamma(Shape, Scale),   θ | σ² ~ N(Mean, σ² Precision⁻¹).
//
// The fields are slices for the sake of the samplers, which update one value
// in place over and over; whoever sets them by hand instead of by NewNIG
// answers for their validity.
type NIG struct {
	Mean      []float64 // μ, length q
	Precision []float64 // Λ, q×q row-major, symmetric positive definite
	Shape     float64   // a > 0
	Scale     float64   // b > 0, in squared units of the response
}

// NewNIG copies its arguments into a NIG. Errors: no coefficients, a precision
// of another size, asymmetric or not positive definite (with its smallest
// eigenvalue), a shape or scale not above zero, anything not finite.
func NewNIG(mean, precision []float64, shape, scale float64) (*NIG, error) {
	if len(mean) == 0 {
		return nil, errors.New("theta mean is empty: give one number for each coefficient")
	}
	m, err := PositiveDefinite("theta precision", precision, len(mean))
	err = cmp.Or(checkVector("theta mean", mean), err, checkAbove("sigma2 shape", shape, 0), checkAbove("sigma2 scale", scale, 0))
	if err != nil {
		return nil, err
	}
	return &NIG{slices.Clone(mean), m, shape, scale}, nil
}

// Dim returns the number q of coefficients.
func (d *NIG) Dim() int { return len(d.Mean) }

// Clone returns a deep copy, such as NIGSampler.Update can write into.
func (d *NIG) Clone() *NIG {
	return &NIG{slices.Clone(d.Mean), slices.Clone(d.Precision), d.Shape, d.Scale}
}

// Affine returns the law of (Aθ + c, h²σ²), a change of units: A is q×q
// row-major and invertible, c has length q, h is not zero. With M = A/h,
//
//	Mean′ = A Mean + c,   Precision′ = M⁻ᵀ Precision M⁻¹,   Scale′ = h² Scale.
//
// A slice that is too short panics. Errors: A singular, h zero, numbers that
// overflow.
func (d *NIG) Affine(a, c []float64, h float64) (*NIG, error) {
	q := d.Dim()
	inverse, err := invert(a, q)
	if err != nil {
		return nil, err
	}
	floats.Scale(h, inverse) // M⁻¹ = hA⁻¹
	dense.Transpose(inverse, q)
	mean := mulVec(a, d.Mean)
	floats.Add(mean, c)
	return changed(NewNIG(mean, congruence(inverse, d.Precision, q), d.Shape, h*h*d.Scale))
}

// AffineInverse returns the law that Affine(a, c, h) turns into d.
func (d *NIG) AffineInverse(a, c []float64, h float64) (*NIG, error) {
	q := d.Dim()
	inverse, err := invert(a, q)
	if err != nil {
		return nil, err
	}
	mean := floats.SubTo(make([]float64, q), d.Mean, c)
	m := make([]float64, q*q)
	for i := range m {
		m[i] = a[i] / h
	}
	dense.Transpose(m, q)
	return changed(NewNIG(mulVec(inverse, mean), congruence(m, d.Precision, q), d.Shape, d.Scale/(h*h)))
}

// VarTheta writes the q marginal variances Scale/(Shape−1)·(Precision⁻¹)_jj
// into dst: θ is Student t with 2·Shape degrees of freedom, and they are +Inf where
// ½ < Shape ≤ 1, NaN below. It allocates.
func (d *NIG) VarTheta(dst []float64) {
	q, s := d.Dim(), math.NaN()
	l, inverse := slices.Clone(d.Precision), make([]float64, q*q)
	switch {
	case d.Shape <= 0.5 || !dense.Cholesky(l, q):
	case d.Shape <= 1:
		s = math.Inf(1)
	default:
		s = d.Scale / (d.Shape - 1)
	}
	dense.InverseFromCholesky(inverse, l, q)
	for j := range q {
		dst[j] = s * inverse[j*q+j]
	}
}

// NIGSampler draws from one NIG law at a time. It holds the factor of that law's
// precision and the space to update laws; after construction nothing allocates. It is
// not for use by several goroutines.
type NIGSampler struct {
	mean         []float64
	chol         []float64 // L, with Precision = L Lᵀ
	shape, scale float64
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

// Set makes d, which it copies, the law of Rand. It reports false,
// and leaves the sampler without a law, unless the precision is positive
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
	s.shape, s.scale = d.Shape, d.Scale
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
	floats.AddTo(dst.Precision[:q*q], prior.Precision[:q*q], xx[:q*q])
	dense.Symmetrise(dst.Precision, q)
	copy(s.chol, dst.Precision)
	if !dense.Cholesky(s.chol, q) {
		return false
	}
	delta, fit := s.work[:q], s.work[q:][:q]
	dense.SymMulVec(fit, xx, q, prior.Mean)
	floats.SubTo(delta, xy[:q], fit)
	dense.Solve(s.chol, q, delta)
	floats.AddTo(dst.Mean[:q], prior.Mean[:q], delta)
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
	variate.Normals(theta, sigma, rng)
	// Var(L⁻ᵀz) = (LLᵀ)⁻¹.
	dense.SolveLowerT(s.chol, len(theta), theta)
	floats.Add(theta, s.mean)
	return sigma2
}
