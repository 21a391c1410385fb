package variate

import (
	"math"
	"math/rand/v2"
)

// WishartFactor draws lower triangular A, zeros above, into the p×p dst, with
// A Aᵀ ~ Wishart_p(I, dof). It panics unless dof > p − 1, which need not be a
// whole number. L A is then a factor of a Wishart_p(L Lᵀ, dof) matrix.
//
// Bartlett (1933): the elements are independent, a_ii² ~ χ²(dof − i) for i from
// 0, and a_ij standard normal for j < i.
func WishartFactor(dst []float64, p int, dof float64, rng *rand.Rand) {
	for i := range p {
		row := dst[i*p:][:p]
		for j := range i {
			row[j] = rng.NormFloat64()
		}
		row[i] = math.Sqrt(Chi2(dof-float64(i), rng))
		clear(row[i+1:])
	}
}

// InverseWishartFactor draws the lower triangular Cholesky factor F, zeros
// above, of T = F Fᵀ ~ InvWishart_p(C Cᵀ, dof) into the p×p dst. The law has
// density ∝ |T|^{−(dof+p+1)/2} exp(−½ tr(C CᵀT⁻¹)). Only the lower triangle of
// psiChol, which holds C, is read; work has length p at least. It panics
// unless dof > p − 1.
//
// The Bartlett decomposition in reverse order, W = U Uᵀ ~ Wishart(I, dof) with
// upper triangular U, u_ii² ~ χ²(dof − p + 1 + i), makes U⁻ᵀ lower triangular,
// and T = C W⁻¹ Cᵀ = (C U⁻ᵀ)(C U⁻ᵀ)ᵀ: hence F Uᵀ = C, solved by columns from the
// last to the first,
//
//	f_ij = (c_ij − Σ_{j<k≤i} f_ik u_jk) / u_jj.
//
// No matrix is inverted, and none is factored.
func InverseWishartFactor(dst, psiChol []float64, p int, dof float64, work []float64, rng *rand.Rand) {
	// U stands above the diagonal of dst while F fills the rest, and work
	// holds the reciprocals of its own diagonal.
	for j := range p {
		row := dst[j*p:][:p]
		for k := j + 1; k < p; k++ {
			row[k] = rng.NormFloat64()
		}
		work[j] = 1 / math.Sqrt(Chi2(dof-float64(p-1-j), rng))
	}
	for j := p - 1; j >= 0; j-- {
		u, r := dst[j*p:][:p], work[j]
		for i := j; i < p; i++ {
			f := dst[i*p:][:i+1]
			s := psiChol[i*p+j]
			for k := j + 1; k < len(f); k++ {
				s -= f[k] * u[k]
			}
			f[j] = s * r
		}
	}
	for i := range p {
		clear(dst[i*p+i+1 : (i+1)*p])
	}
}
