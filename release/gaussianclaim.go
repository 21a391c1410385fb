package release

import (
	"fmt"
	"math"
)

// validateGaussianClaim refuses Gaussian noise that is certainly too small for
// the ε and δ claimed. The writer calibrates it to δ itself, which is computed
// with an error bound (package accounting); here a lower bound of δ serves, which
// a few elementary functions give.
func (r *Release) validateGaussianClaim() error {
	return r.gaussianClaim(r.Noise.Sensitivity)
}

// gaussianClaim reports a scale that is too small for L2 sensitivity s. Where n
// is released too, it is one of the entries that s counts, with a scale of its own; moments of their own
// lengthen the vector.
func (r *Release) gaussianClaim(s float64) error {
	ratio := s / r.Noise.Scale
	if r.Privacy.Neighbours == AddRemove {
		ratio = math.Hypot(math.Sqrt(s*s-1)/r.Noise.Scale, 1/r.NNoise)
	}
	if r.apart() {
		ratio = math.Hypot(ratio, r.momentsRatio())
	}
	epsilon, _ := r.statisticsEpsilon().Float64()
	if least := leastDelta(epsilon, ratio); least > r.Privacy.Delta {
		return fmt.Errorf("%v is too small for epsilon %v and delta %v at sensitivity %v%s: delta is at least %.3g, so the privacy claimed does not hold",
			r.Noise.Scale, r.Privacy.Epsilon, r.Privacy.Delta, s, r.besidesMoments()+r.besidesBounds(), least)
	}
	return nil
}

// rootL2 is the proven L2 sensitivity, a part in 10¹² below it at most.
func (r *Release) rootL2() float64 {
	square, _ := relax(r.leastL2Squared()).Float64()
	return math.Sqrt(square)
}

// leastDelta is a lower bound of the smallest δ of Gaussian noise whose standard
// deviation is the L2 sensitivity over mu. With a, b = ε/μ ∓ μ/2, φ and Q the
// normal density and upper tail and R = Q/φ,
//
//	δ = Q(a) − φ(a) R(b),   R(b) < 4/(3b + √(b² + 8)),  b > −1
//
// (Balle & Wang 2018, Theorem 8; Sampford 1953). What rounding could have added,
// and one part in 10⁶, is taken off.
func leastDelta(epsilon, mu float64) float64 {
	a, b := epsilon/mu-mu/2, epsilon/mu+mu/2
	upper := math.Erfc(a/math.Sqrt2) / 2
	density := math.Exp(-a*a/2) / math.Sqrt(2*math.Pi)
	least := upper - 4*density/(3*b+math.Sqrt(b*b+8))
	return least*(1-1e-6) - upper*(1e-10+1e-15*math.Abs(a)*b)
}
