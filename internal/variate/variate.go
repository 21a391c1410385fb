// Package variate draws from the distributions that the samplers need and
// that gonum lacks or draws too slowly: normal, gamma, the mixing law of the
// Laplace distribution, Wishart and inverse Wishart factors.
//
// All randomness comes from the caller's *rand.Rand; nothing allocates.
package variate

import (
	"math"
	"math/rand/v2"
)

// Normals draws independent normal variates about 0.
func Normals(dst []float64, sd float64, rng *rand.Rand) {
	for i := range dst {
		dst[i] = sd * rng.NormFloat64()
	}
}

// Gamma draws from the gamma distribution with this shape and rate 1, density
// x^{shape−1} e^{−x}/Γ(shape). It panics unless shape > 0. A shape below 0.01
// or so gives draws that underflow to 0.
//
// Marsaglia & Tsang (2000), "A simple method for generating gamma variables",
// ACM TOMS 26, 363–372: for shape ≥ 1, with d = shape − 1/3 and
// c = 1/√(9d), the variable dv with v = (1 + cZ)³, Z standard normal, is
// accepted where log U < Z²/2 + d(1 − v + log v), a squeeze first. Below 1, if
// G ~ Gamma(shape+1) then G·U^{1/shape} ~ Gamma(shape).
func Gamma(shape float64, rng *rand.Rand) float64 {
	if !(shape > 0) {
		panic("variate: gamma shape is not positive")
	}
	if shape < 1 {
		g := Gamma(shape+1, rng)
		return g * math.Exp(-rng.ExpFloat64()/shape)
	}
	d := shape - 1./3
	c := 1 / (3 * math.Sqrt(d))
	for {
		z := rng.NormFloat64()
		v := 1 + c*z
		if v <= 0 {
			continue
		}
		v *= v * v
		u := rng.Float64()
		if z *= z; u < 1-0.0331*(z*z) || math.Log(u) < z/2+d*(1-v+math.Log(v)) {
			return d * v
		}
	}
}

// Chi2 draws from the chi-squared distribution. It panics unless dof > 0,
// which need not be a whole number.
func Chi2(dof float64, rng *rand.Rand) float64 {
	return 2 * Gamma(dof/2, rng)
}

// InverseGamma draws from InvGamma(shape, scale), density
// scale^shape/Γ(shape)·x^{−shape−1} e^{−scale/x}. It panics unless shape > 0.
// A shape below 0.01 or so overflows to +Inf; LogGamma does not.
func InverseGamma(shape, scale float64, rng *rand.Rand) float64 {
	return scale / Gamma(shape, rng)
}

const sqrt2Pi = 2.50662827463100050241576528481104525300698674060993831662992

// LaplaceMixture draws the variance ω² of Laplace noise of scale b > 0, given
// that the noise is r: with r | ω² ~ N(0, ω²) and ω² exponential of mean 2b²,
// r is Laplace(b), and ω² | r is generalised inverse Gaussian, GIG(½, 1/b², r²):
//
//	p(ω² | r) ∝ (ω²)^{−½} exp(−½(ω²/b² + r²/ω²)),
//
// that is, 1/ω² ~ InverseGaussian(mean 1/(b|r|), shape 1/b²) (Andrews & Mallows
// 1974; Park & Casella 2008). The draw is positive, and at r = 0 it is b²Z², Z
// normal: Gamma(½, rate 1/(2b²)). |r|/b may lie anywhere from 0 to 1e300.
func LaplaceMixture(b, r float64, rng *rand.Rand) float64 {
	return b * (b * reciprocal(math.Abs(r)/b, rng))
}

// LaplaceMixtureLogDensity returns the log density, normalised, of the law of
// LaplaceMixture at ω² = w > 0:
//
//	−log(b √(2πw)) − (w − b|r|)²/(2b²w),
//
// in which e^{|r|/b} from the normaliser has completed the square. b√w must be
// within the range of float64.
func LaplaceMixtureLogDensity(w, b, r float64) float64 {
	s := math.Sqrt(w)
	d := s/b - math.Abs(r)/s
	return -math.Log(b*s*sqrt2Pi) - d*d/2
}

// reciprocal draws v = 1/x for x inverse Gaussian with mean 1/ρ and shape 1,
// ρ ≥ 0: the law GIG(½, 1, ρ²) with density (2πv)^{−½} exp(−(v−ρ)²/(2v)).
//
// Michael, Schucany & Haas (1976), "Generating random variates using
// transformations with multiple roots", American Statistician 30, 88–90:
// (v−ρ)²/v is chi-squared with one degree of freedom. Given its value ν, v is
// a root of
//
//	v² − (2ρ+ν)v + ρ² = 0,
//
// the larger root v₁ with probability v₁/(v₁+ρ), or else the smaller ρ²/v₁.
// The larger, ρ + (ν + √(ν(ν+4ρ)))/2, is a sum of positive terms, so that no
// digit cancels however large or small ρ is; in terms of x it is the
// difference of nearly equal numbers.
func reciprocal(rho float64, rng *rand.Rand) float64 {
	nu := 0.0
	for nu == 0 { // NormFloat64 returns 0 once in 2³² draws, which would make v = 0 at ρ = 0
		nu = rng.NormFloat64()
		nu *= nu
	}
	v := rho + (nu+math.Sqrt(nu*(nu+4*rho)))/2
	// Which root is a coin toss, that no processor foresees: on the bits of the
	// two the compiler moves conditionally, and no branch is taken.
	x := math.Float64bits(v)
	if y := math.Float64bits(rho * (rho / v)); rng.Float64()*(v+rho) > v {
		x = y
	}
	return math.Float64frombits(x)
}

// WishartFactor draws lower triangular A, zeros above, into the p×p dst, with
// A Aᵀ ~ Wishart_p(I, dof). It panics unless dof > p − 1, which need not be a
// whole number. L A is then a factor of a Wishart_p(L Lᵀ, dof) matrix.
//
// Bartlett (1933): the elements are independent, a_ii² ~ χ²(dof − i) for i from
// 0, and a_ij standard normal for j < i.
func WishartFactor(dst []float64, p int, dof float64, rng *rand.Rand) {
	for i := range p {
		row := dst[i*p:][:p]
		Normals(row[:i], 1, rng)
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
