package model

import "math"

// logBesselPower returns log(x^ν K_ν(x)) up to a constant of ν, and K_{ν−1}/K_ν at x, for
// ν = ½, 1, 1½, …, x ≥ 0. With g_ν the first and R_ν the second,
//
//	R_{ν+1} = 1/(R_ν + 2ν/x),   g_{ν+1} = g_ν + log(x/R_{ν+1}),
//
// all terms positive (DLMF 10.29.1). They begin with g_½ = −x and R_½ = 1, or with ν = 1, see
// besselOne.
func logBesselPower(nu, x float64) (g, ratio float64) {
	x = math.Max(x, 1e-9)
	at := nu - math.Floor(nu)
	if g, ratio = -x, 1; at == 0 {
		at = 1
		g, ratio = besselOne(x)
	}
	for ; at < nu; at++ {
		ratio = 1 / (ratio + 2*at/x)
		g += math.Log(x / ratio)
	}
	return g, ratio
}

// besselOne returns log(x K_1(x)) and K_0/K_1 by
//
//	K_ν(x) = ∫₀^∞ exp(−x cosh t) cosh νt dt   (DLMF 10.32.9)
//
// and the trapezoid rule, which converges for such integrands as exp(−const/step). x cosh t − x
// is written 2x sinh²½t.
func besselOne(x float64) (g, ratio float64) {
	const step, enough = 0.25, 40
	h := step / math.Sqrt(1+x)
	zero, one := 0.5, 0.5
	for t := h; ; t += h {
		half := math.Sinh(t / 2)
		fall := 2 * x * half * half
		if !(fall <= enough+t) { // NaN, too, ends it
			break
		}
		w := math.Exp(-fall)
		zero += w
		one += w * math.Cosh(t)
	}
	return math.Log(x*h*one) - x, zero / one
}
