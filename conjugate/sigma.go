package conjugate

import "math"

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
