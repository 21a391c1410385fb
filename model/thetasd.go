package model

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
)

// ThetaSD writes the prior sds of θ given σ² and the free scales as they are: the root of
// the diagonal of Λ₀(a)⁻¹, of σ²Λ₀(a)⁻¹ where the prior is not Unscaled. NaN where Λ₀(a) is
// not positive definite in float64. It allocates.
func (m *Mixture) ThetaSD(dst []float64, sigma2 float64) {
	q := m.Theta.Dim()
	l, inverse := append([]float64(nil), m.Theta.Precision...), make([]float64, q*q)
	if m.prior.Unscaled {
		sigma2 = 1
	}
	ok := dense.Cholesky(l, q)
	if ok {
		dense.InverseFromCholesky(inverse, l, q)
	}
	for k := range q {
		dst[k] = math.NaN()
		if ok {
			dst[k] = math.Sqrt(sigma2 * inverse[k*q+k])
		}
	}
}
