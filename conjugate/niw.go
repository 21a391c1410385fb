package conjugate

import (
	"errors"
	"fmt"
	"math"
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

// NewNIW copies its arguments into a NIW. Errors: no covariates, a scale of
// another size, asymmetric or not positive definite (with its smallest
// eigenvalue), kappa not above 0, dof not above p − 1, anything not finite.
func NewNIW(mean []float64, kappa float64, scale []float64, dof float64) (*NIW, error) {
	if len(mean) == 0 {
		return nil, errors.New("covariates mean is empty: give one number for each covariate")
	}
	if err := checkVector("covariates mean", mean); err != nil {
		return nil, err
	}
	if err := checkAbove("covariates kappa", kappa, 0); err != nil {
		return nil, err
	}
	m, err := positiveDefinite("covariates scale", scale, len(mean))
	if err != nil {
		return nil, err
	}
	if err := checkAbove("covariates dof", dof, float64(len(mean)-1)); err != nil {
		return nil, err
	}
	return &NIW{append([]float64(nil), mean...), kappa, m, dof}, nil
}

// Dim returns the number p of covariates.
func (d *NIW) Dim() int { return len(d.Mean) }

// Clone returns a deep copy, such as NIWSampler.Update can write into.
func (d *NIW) Clone() *NIW {
	return &NIW{
		append([]float64(nil), d.Mean...), d.Kappa,
		append([]float64(nil), d.Scale...), d.Dof,
	}
}

// Affine returns the law of (c + Hμ, HTHᵀ), a change of units: H is p×p
// row-major and invertible, c has length p. Mean becomes c + H Mean, Scale
// becomes H Scale Hᵀ. A slice that is too short panics. Errors: H singular,
// numbers that overflow.
func (d *NIW) Affine(h, c []float64) (*NIW, error) {
	mean := mulVec(h, d.Mean)
	for i := range mean {
		mean[i] += c[i]
	}
	return d.changed(mean, congruence(h, d.Scale, d.Dim()))
}

// AffineInverse returns the law that Affine(h, c) turns into d.
func (d *NIW) AffineInverse(h, c []float64) (*NIW, error) {
	p := d.Dim()
	inverse, err := invert(h, p)
	if err != nil {
		return nil, err
	}
	mean := make([]float64, p)
	for i := range mean {
		mean[i] = d.Mean[i] - c[i]
	}
	return d.changed(mulVec(inverse, mean), congruence(inverse, d.Scale, p))
}

func (d *NIW) changed(mean, scale []float64) (*NIW, error) {
	out, err := NewNIW(mean, d.Kappa, scale, d.Dof)
	if err != nil {
		return nil, fmt.Errorf("change of units: %w", err)
	}
	return out, nil
}

// excess returns ν − p + 1, the degrees of freedom of μ's Student law.
func (d *NIW) excess() float64 { return d.Dof - float64(d.Dim()-1) }

// MeanMu writes E μ into dst (length p): NaN where Dof ≤ p.
func (d *NIW) MeanMu(dst []float64) {
	copy(dst[:d.Dim()], d.Mean)
	if d.excess() <= 1 {
		fill(dst[:d.Dim()], math.NaN())
	}
}

// VarMu writes the p marginal variances Scale_jj/(Kappa (Dof−p−1)) into dst:
// +Inf where p < Dof ≤ p+1, NaN below.
func (d *NIW) VarMu(dst []float64) {
	p, e := d.Dim(), d.excess()
	for j := range p {
		switch {
		case e <= 1:
			dst[j] = math.NaN()
		case e <= 2:
			dst[j] = math.Inf(1)
		default:
			dst[j] = d.Scale[j*p+j] / (d.Kappa * (e - 2))
		}
	}
}

// MeanT writes E T = Scale/(Dof−p−1) into dst (p×p). Where Dof ≤ p+1 the
// diagonal is +Inf and the rest NaN.
func (d *NIW) MeanT(dst []float64) {
	p, e := d.Dim(), d.excess()
	for i, v := range d.Scale[:p*p] {
		switch {
		case e > 2:
			dst[i] = v / (e - 2)
		case i/p == i%p:
			dst[i] = math.Inf(1)
		default:
			dst[i] = math.NaN()
		}
	}
}

// VarT writes the variances of the elements of T into dst (p×p):
//
//	((ν−p+1)Ψ_jk² + (ν−p−1)Ψ_jjΨ_kk) / ((ν−p)(ν−p−1)²(ν−p−3)),
//
// +Inf where p+1 < Dof ≤ p+3, NaN below.
func (d *NIW) VarT(dst []float64) {
	p, e := d.Dim(), d.excess()
	for i, v := range d.Scale[:p*p] {
		j, k := i/p, i%p
		switch {
		case e <= 2:
			dst[i] = math.NaN()
		case e <= 4:
			dst[i] = math.Inf(1)
		default:
			// Dividing first keeps the squares in range.
			m := v / (e - 2)
			jj, kk := d.Scale[j*p+j]/(e-2), d.Scale[k*p+k]/(e-2)
			dst[i] = (e*m*m + (e-2)*jj*kk) / ((e - 1) * (e - 4))
		}
	}
}
