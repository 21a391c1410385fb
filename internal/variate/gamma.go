package variate

import (
	"math"
	"math/rand/v2"
)

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
	if shape < 1 {
		return Gamma(shape+1, rng) * math.Exp(-boost(shape, rng))
	}
	if !(shape >= 1) {
		panic("variate: gamma shape is NaN")
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

// boost returns −log(U)/shape.
func boost(shape float64, rng *rand.Rand) float64 {
	if !(shape > 0) {
		panic("variate: gamma shape is not positive")
	}
	return rng.ExpFloat64() / shape
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
