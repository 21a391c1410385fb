package variate

import (
	"math"
	"math/rand/v2"
)

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
