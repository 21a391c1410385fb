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
	"fmt"
	"math"
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
	if err := check(nonNegative("epsilon", epsilon), positive("sigma", sigma), positive("sensitivity", sensitivity)); err != nil {
		return 0, err
	}
	return math.Exp(logDelta(epsilon, sigma, sensitivity)), nil
}

// Epsilon returns an ε for which Gaussian noise of standard deviation sigma is
// (ε, delta)-differentially private: the smallest one, rounded up by as much as
// evaluating (1) may be wrong. Errors: sigma or sensitivity not positive and
// finite, delta not in [MinDelta, 1), no ε that a float64 could hold.
func Epsilon(sigma, delta, sensitivity float64) (float64, error) {
	if err := check(positive("sigma", sigma), inRange(delta), positive("sensitivity", sensitivity)); err != nil {
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
	if err := check(nonNegative("epsilon", epsilon), inRange(delta), positive("sensitivity", sensitivity)); err != nil {
		return 0, err
	}
	limit := math.Log(delta) - margin
	return smallest("sigma", func(sigma float64) bool { return logDelta(epsilon, sigma, sensitivity) <= limit })
}

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

func check(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
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

func inRange(delta float64) error {
	if !(delta >= MinDelta && delta < 1) {
		return fmt.Errorf("delta must be at least %v and below 1, not %v", MinDelta, delta)
	}
	return nil
}

// knots is at how many ε AsGaussian looks.
const knots = 16

// AsGaussian returns a μ for which all steps together are, up to delta, no less private than
// one release of Gaussian noise with a sensitivity of μ standard deviations: with d(ε) the
// smallest δ for which it is (ε, δ)-differentially private,
//
//	d(ε) ≤ delta + (1 − delta) g(ε),  g(ε) = δ(ε, 1/μ, 1) of (1),
//
// for every ε ≥ 0. Where Epsilon(delta) ends, d is delta: it is for smaller ε to be shown.
// Both sides are convex in z = e^ε. So between two knots a and b d is below its chord, g
// above its tangent at a point m between them,
//
//	g(m) − (z − e^m) Φ(−μ/2 − m/μ),
//
// and these are straight lines: it is enough to compare them at a and at b. For sums over
// many samples μ is about that of Gaussian noise with the same (Epsilon(delta), delta), to
// some hundredths. Errors: as of Epsilon, no μ.
func (t Training) AsGaussian(delta float64) (mu float64, err error) {
	end, err := t.Epsilon(PLD, delta)
	if err != nil {
		return 0, err
	}
	var epsilons, deltas [knots + 1]float64
	for i := range knots {
		epsilons[i] = end * float64(i) / knots
		if deltas[i], err = t.Delta(PLD, epsilons[i]); err != nil {
			return 0, err
		}
	}
	epsilons[knots], deltas[knots] = end, delta
	return smallest("mu", func(mu float64) bool {
		for i := range knots {
			if !covered(mu, delta, epsilons[i], epsilons[i+1], deltas[i], deltas[i+1]) {
				return false
			}
		}
		return true
	})
}

// covered compares the lines at knots a and b.
func covered(mu, delta, a, b, deltaA, deltaB float64) bool {
	m := (a + b) / 2
	at, slope := math.Exp(logDelta(m, 1/mu, 1)), upperTail(mu/2+m/mu)
	above := func(z, d float64) bool {
		drop := slope * (math.Exp(z) - math.Exp(m))
		return d-delta <= (1-delta)*(at-drop-margin*(at+math.Abs(drop)))
	}
	return above(a, deltaA) && above(b, deltaB)
}
