package accounting

import (
	"math"
	"math/big"

	"gonum.org/v1/gonum/integrate/quad"
)

// logDelta is the logarithm of δ(ε, σ, Δ), with an absolute error below 1e-12
// where it is above −691, and below −690 elsewhere.
//
// With μ = Δ/σ, a = ε/μ − μ/2, b = ε/μ + μ/2, φ and Q the normal density and upper
// tail, and R = Q/φ Mills' ratio, e^ε = φ(a)/φ(b) turns (1) into
//
//	δ = Q(a) − φ(a) R(b)                           (2)
//	  = φ(a) (R(a) − R(b))                         (3)
//	  = φ(a) ∫_a^b (1 − tR(t)) dt,                 (4)
//
// the last since R′(t) = tR(t) − 1 < 0. No term overflows, and what is subtracted
// in (2) for a < 0 and in (3) for a ≥ 0 is far from equal as long as μ > 1;
// for smaller μ, where a ≥ −½, the integral (4) has no cancellation.
func logDelta(epsilon, sigma, sensitivity float64) float64 {
	a, b, mu := arguments(epsilon, sigma, sensitivity)
	switch {
	case mu <= 1:
		slope := func(t float64) float64 { return millsSlope(a + float64(mu*t)) }
		return logDensity(a) + math.Log(mu) + math.Log(quad.Fixed(slope, 0, 1, 16, quad.Legendre{}, 0))
	case a < 0:
		return math.Log1p(-(math.Erfc(-a/math.Sqrt2)/2 + math.Exp(logDensity(a))*mills(b)))
	}
	return logDensity(a) + math.Log(mills(a)-mills(b))
}

// arguments returns a, b and μ. In a two numbers may cancel that are as large as
// √(ε/2), and exp(−a²/2) magnifies what is left of their rounding: hence 256 bits.
func arguments(epsilon, sigma, sensitivity float64) (a, b, mu float64) {
	wide := func(x float64) *big.Float { return new(big.Float).SetPrec(256).SetFloat64(x) }
	ratio := wide(sensitivity)
	ratio.Quo(ratio, wide(sigma))
	up := wide(epsilon)
	up.Quo(up, ratio)
	half := wide(0.5)
	half.Mul(half, ratio)
	a, _ = wide(0).Sub(up, half).Float64()
	b, _ = wide(0).Add(up, half).Float64()
	mu, _ = ratio.Float64()
	return a, b, mu
}

// logDensity is log φ(x).
func logDensity(x float64) float64 { return -x*x/2 - math.Log(2*math.Pi)/2 }

// From far on, Mills' ratio is taken from Laplace's continued fraction,
//
//	R(x) = 1/(x + K),  K = 1/(x + 2/(x + 3/(x + …))),
//
// cut after terms(x) terms; the next would change nothing.
const far = 3

func terms(x float64) int { return 10 + int(900/(x*x)) }

// mills is R(x) = Q(x)/φ(x), x ≥ −½.
func mills(x float64) float64 {
	if x < far {
		return math.Sqrt(math.Pi/2) * math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2)
	}
	return 1 / (x + fraction(x))
}

// millsSlope is −R′(x) = 1 − xR(x), x ≥ −½; K/(x + K) in terms of the continued
// fraction, where the difference would cancel.
func millsSlope(x float64) float64 {
	if x < far {
		return 1 - float64(x*mills(x))
	}
	k := fraction(x)
	return k / (x + k)
}

// fraction is K. All is positive: nothing cancels, and rounding errors die out
// from term to term.
func fraction(x float64) float64 {
	f := x
	for k := float64(terms(x)); k >= 2; k-- {
		f = x + k/f
	}
	return 1 / f
}
