package release

import (
	"fmt"
	"math"
	"math/big"
)

// Sensitivities of moments, replace-one, for p = 1, 2, 3: those of degree 1 to 4
// alone, and those of degree 3 and 4 together with the statistics of p+1 columns.
// docs/sensitivity.md has the proofs; package ssp draws the noise from the same
// numbers. The L1 ones are rounded up in the ninth decimal.
var (
	momentsL1         = [...]*big.Rat{big.NewRat(4_326446777, 1e9), big.NewRat(14_452561040, 1e9), big.NewRat(34_519025147, 1e9)}
	togetherL1        = [...]*big.Rat{big.NewRat(59, 8), big.NewRat(18_458196126, 1e9), big.NewRat(39_519311059, 1e9)}
	momentsL2Squared  = [...]int64{8, 24, 64}
	togetherL2Squared = [...]int64{12, 32, 72}
)

// leastL1 is the proven L1 sensitivity of the vector that the noise stands on: the
// statistics, and the moments where they are together with them.
func (r *Release) leastL1() *big.Rat {
	m, nb := r.Dim(), r.Privacy.Neighbours
	switch {
	case !r.together():
		return r.boundL1()
	case nb == AddRemove:
		return r.withMoments(r.boundL1())
	}
	return togetherL1[m-2]
}

// leastL2Squared is the same for the square of the L2 sensitivity.
func (r *Release) leastL2Squared() *big.Rat {
	m, nb := r.Dim(), r.Privacy.Neighbours
	switch {
	case !r.together():
		return r.boundL2Squared()
	case nb == AddRemove:
		return r.withMoments(r.boundL2Squared())
	}
	return big.NewRat(togetherL2Squared[m-2], 1)
}

// withMoments counts the moments: one row adds at most 1 to each.
func (r *Release) withMoments(bound *big.Rat) *big.Rat {
	return new(big.Rat).Add(bound, big.NewRat(int64(len(r.Moments.Sums)), 1))
}

// leastMoments is the proven sensitivity of moments of degree 1 to 4: in L1 for
// Laplace noise, the square of that in L2 for Gaussian.
func (r *Release) leastMoments() *big.Rat {
	p := r.Dim() - 1
	switch {
	case r.Privacy.Neighbours == AddRemove:
		return r.withMoments(new(big.Rat))
	case r.Noise.Kind == Gaussian:
		return big.NewRat(momentsL2Squared[p-1], 1)
	}
	return momentsL1[p-1]
}

// besidesMoments says that another vector has its part in the claim.
func (r *Release) besidesMoments() string {
	if !r.apart() {
		return ""
	}
	return fmt.Sprintf(", beside moments with noise of scale %v", r.Moments.Noise.Scale)
}

// momentsSpend is what moments of their own add to s/scale: their L1 sensitivity,
// stated or proven, over the scale of their noise.
func (r *Release) momentsSpend(value func(float64) *big.Rat) *big.Rat {
	s := relax(r.leastMoments())
	if n := r.Moments.Noise; n.Sensitivity != 0 {
		s = value(n.Sensitivity)
	}
	return s.Quo(s, value(r.Moments.Noise.Scale))
}

// momentsRatio is the same for Gaussian noise and the L2 sensitivity.
func (r *Release) momentsRatio() float64 {
	n := r.Moments.Noise
	s := n.Sensitivity
	if s == 0 {
		square, _ := relax(r.leastMoments()).Float64()
		s = math.Sqrt(square)
	}
	return s / n.Scale
}

// validateMomentSensitivity refuses a stated sensitivity of moments of their own
// below the proven one.
func (r *Release) validateMomentSensitivity() error {
	if !r.apart() || r.Moments.Noise.Sensitivity == 0 {
		return nil
	}
	return r.covers(r.Moments.Noise.Sensitivity, r.leastMoments(), "the moments")
}
