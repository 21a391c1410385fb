package conjugate

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/internal/dense"
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
	if err := checkVector("theta mean", mean); err != nil {
		return nil, err
	}
	m, err := positiveDefinite("theta precision", precision, len(mean))
	if err != nil {
		return nil, err
	}
	if err := checkAbove("sigma2 shape", shape, 0); err != nil {
		return nil, err
	}
	if err := checkAbove("sigma2 scale", scale, 0); err != nil {
		return nil, err
	}
	return &NIG{append([]float64(nil), mean...), m, shape, scale}, nil
}

// Dim returns the number q of coefficients.
func (d *NIG) Dim() int { return len(d.Mean) }

// Clone returns a deep copy, such as NIGSampler.Update can write into.
func (d *NIG) Clone() *NIG {
	return &NIG{
		append([]float64(nil), d.Mean...),
		append([]float64(nil), d.Precision...),
		d.Shape, d.Scale,
	}
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
	for i := range inverse {
		inverse[i] *= h // M⁻¹ = hA⁻¹
	}
	mean := mulVec(a, d.Mean)
	for i := range mean {
		mean[i] += c[i]
	}
	return d.changed(mean, congruence(transpose(inverse, q), d.Precision, q), h*h*d.Scale)
}

// AffineInverse returns the law that Affine(a, c, h) turns into d.
func (d *NIG) AffineInverse(a, c []float64, h float64) (*NIG, error) {
	q := d.Dim()
	inverse, err := invert(a, q)
	if err != nil {
		return nil, err
	}
	mean := make([]float64, q)
	for i := range mean {
		mean[i] = d.Mean[i] - c[i]
	}
	m := make([]float64, q*q)
	for i := range m {
		m[i] = a[i] / h
	}
	return d.changed(mulVec(inverse, mean), congruence(transpose(m, q), d.Precision, q), d.Scale/(h*h))
}

// changed makes the law in other units; its shape has none.
func (d *NIG) changed(mean, precision []float64, scale float64) (*NIG, error) {
	out, err := NewNIG(mean, precision, d.Shape, scale)
	if err != nil {
		return nil, fmt.Errorf("change of units: %w", err)
	}
	return out, nil
}

// MeanTheta writes E θ into dst (length q): NaN where Shape ≤ ½, since θ is
// Student t with 2·Shape degrees of freedom.
func (d *NIG) MeanTheta(dst []float64) {
	copy(dst[:d.Dim()], d.Mean)
	if d.Shape <= 0.5 {
		fill(dst[:d.Dim()], math.NaN())
	}
}

// VarTheta writes the q marginal variances Scale/(Shape−1)·(Precision⁻¹)_jj
// into dst: +Inf where ½ < Shape ≤ 1, NaN below. It allocates.
func (d *NIG) VarTheta(dst []float64) {
	q := d.Dim()
	l, inverse := append([]float64(nil), d.Precision...), make([]float64, q*q)
	if d.Shape <= 0.5 || !dense.Cholesky(l, q) {
		fill(dst[:q], math.NaN())
		return
	}
	dense.InverseFromCholesky(inverse, l, q)
	s := d.MeanSigma2()
	for j := range q {
		dst[j] = s * inverse[j*q+j]
	}
}

func fill(x []float64, v float64) {
	for i := range x {
		x[i] = v
	}
}

// MeanSigma2 returns E σ² = Scale/(Shape−1); +Inf where Shape ≤ 1.
func (d *NIG) MeanSigma2() float64 {
	if d.Shape <= 1 {
		return math.Inf(1)
	}
	return d.Scale / (d.Shape - 1)
}

// VarSigma2 returns Var σ² = (E σ²)²/(Shape−2): +Inf where 1 < Shape ≤ 2, and
// NaN where the mean is infinite.
func (d *NIG) VarSigma2() float64 {
	m := d.MeanSigma2()
	switch {
	case math.IsInf(m, 1):
		return math.NaN()
	case d.Shape <= 2:
		return math.Inf(1)
	}
	return m * m / (d.Shape - 2)
}

// MeanSigma returns E σ = √Scale · Γ(Shape−½)/Γ(Shape); +Inf where Shape ≤ ½.
func (d *NIG) MeanSigma() float64 {
	if d.Shape <= 0.5 {
		return math.Inf(1)
	}
	h2, _ := gammaRatio(d.Shape - 0.5)
	return math.Sqrt(d.Scale / h2)
}

// VarSigma returns Var σ = E σ² − (E σ)²: +Inf where ½ < Shape ≤ 1, and NaN
// where the mean is infinite.
//
// With h = Γ(a)/Γ(a−½) and h² = (a−½) − ¼ + δ, as gammaRatio has it,
//
//	b/(a−1) − b/h² = b/(a−1) · (¼ + δ)/h²,
//
// where the difference on the left would lose log₁₀(4a) digits.
func (d *NIG) VarSigma() float64 {
	switch {
	case d.Shape <= 0.5:
		return math.NaN()
	case d.Shape <= 1:
		return math.Inf(1)
	}
	h2, delta := gammaRatio(d.Shape - 0.5)
	return d.MeanSigma2() * (0.25 + delta) / h2
}

// gammaRatio returns h² = (Γ(x+½)/Γ(x))² for x > 0, and δ = h² − x + ¼, which
// is positive and tends to 0 as 1/(32x).
//
// From x = 64 the asymptotic series serves,
//
//	δ = 1/(32x) + 1/(128x²) − 5/(2048x³) − 23/(8192x⁴) + 53/(65536x⁵) + O(x⁻⁶),
//
// the square of that of Tricomi & Erdélyi (1951), Pacific J. Math. 1, 133–142,
// which there leaves 4e-14; below, h(x) = h(x+1)·x/(x+½).
func gammaRatio(x float64) (h2, delta float64) {
	scale, y := 1.0, x
	for ; y < 64; y++ {
		r := y / (y + 0.5)
		scale *= r * r
	}
	z := 1 / y
	delta = z * (1./32 + z*(1./128+z*(-5./2048+z*(-23./8192+z*53./65536))))
	h2 = y - 0.25 + delta
	if y == x {
		return h2, delta
	}
	h2 *= scale
	return h2, h2 - x + 0.25
}
