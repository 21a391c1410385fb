// Package accounting relates the parameters of noise to the privacy that it buys.
//
// The Gaussian mechanism adds normal noise of standard deviation σ to a statistic
// of L2 sensitivity Δ. It is (ε, δ)-differentially private if and only if
//
//	δ ≥ δ(ε, σ, Δ) = Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ),        (1)
//
// Balle & Wang (Improving the Gaussian Mechanism for Differential Privacy, ICML
// 2018), Theorem 8. The classical σ = Δ√(2 ln(1.25/δ))/ε is larger than need be
// where ε is small, and too small where it is large.
package accounting

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"
)

// MinDelta is the smallest δ that Sigma and Epsilon take.
const MinDelta = 1e-300

// margin is added to a computed log δ before it is compared: the error of
// logDelta is below a tenth of it for δ ≥ MinDelta, and that of math.Log below a
// hundredth (docs/mechanism-gaussian.md).
const margin = 1e-11

// Delta returns δ(ε, σ, Δ) of (1), the smallest δ for which Gaussian noise of
// standard deviation sigma is (epsilon, δ)-differentially private, with a relative
// error below 2e-12 where it is at least 1e-300. Errors: epsilon negative, sigma or
// sensitivity not positive, any of them not finite.
func Delta(epsilon, sigma, sensitivity float64) (float64, error) {
	if err := cmp.Or(nonNegative("epsilon", epsilon), positive("sigma", sigma), positive("sensitivity", sensitivity)); err != nil {
		return 0, err
	}
	return math.Exp(logDelta(epsilon, sigma, sensitivity)), nil
}

// Epsilon returns an ε for which Gaussian noise of standard deviation sigma is
// (ε, delta)-differentially private: the smallest one, rounded up by as much as
// evaluating (1) may be wrong. Errors: sigma or sensitivity not positive and
// finite, delta not in [MinDelta, 1), no ε that a float64 could hold.
func Epsilon(sigma, delta, sensitivity float64) (float64, error) {
	if err := cmp.Or(positive("sigma", sigma), inRange(delta, MinDelta), positive("sensitivity", sensitivity)); err != nil {
		return 0, err
	}
	limit := math.Log(delta) - margin
	private := func(epsilon float64) bool { return logDelta(epsilon, sigma, sensitivity) <= limit }
	if private(0) {
		return 0, nil
	}
	return smallest("epsilon", private)
}

// Sigma returns a standard deviation for which Gaussian noise is (epsilon,
// delta)-differentially private, δ(epsilon, σ, sensitivity) ≤ delta: the smallest
// one, rounded up by as much as evaluating (1) may be wrong. Errors: epsilon
// negative or not finite, delta not in [MinDelta, 1), sensitivity not positive and
// finite, no σ that a float64 could hold.
func Sigma(epsilon, delta, sensitivity float64) (float64, error) {
	if err := cmp.Or(nonNegative("epsilon", epsilon), inRange(delta, MinDelta), positive("sensitivity", sensitivity)); err != nil {
		return 0, err
	}
	asked := [3]float64{epsilon, delta, sensitivity}
	if sigma, ok := sigmas.Load(asked); ok {
		return sigma.(float64), nil
	}
	limit := math.Log(delta) - margin
	sigma, err := smallest("sigma", func(sigma float64) bool { return logDelta(epsilon, sigma, sensitivity) <= limit })
	if err == nil {
		sigmas.Store(asked, sigma)
	}
	return sigma, err
}

// sigmas are those that Sigma has found, by what was asked: each takes a third of a millisecond, and audits, ledgers
// and plans ask for the same ones over and over.
var sigmas sync.Map

// smallest returns the smallest positive float64 for which holds is true, by
// bisection: holds is false below some point and true above it, but for errors of
// rounding next to it. Whatever those are, holds is true of what is returned. The
// bits of positive float64s are ordered as they are.
func smallest(name string, holds func(float64) bool) (float64, error) {
	low, high := uint64(0), math.Float64bits(math.MaxFloat64)
	if !holds(math.MaxFloat64) {
		return 0, fmt.Errorf("no finite %s gives this privacy", name)
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		if holds(math.Float64frombits(middle)) {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Float64frombits(high), nil
}

func nonNegative(name string, x float64) error {
	if !(x >= 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%s must be a finite number, at least 0, not %v", name, x)
	}
	return nil
}

func positive(name string, x float64) error {
	if !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%s must be a positive finite number, not %v", name, x)
	}
	return nil
}

// inRange refuses a δ that is not in [least, 1).
func inRange(delta, least float64) error {
	if !(delta >= least && delta < 1) {
		return fmt.Errorf("delta must be at least %v and below 1, not %v", least, delta)
	}
	return nil
}

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
