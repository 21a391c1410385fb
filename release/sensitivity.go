package release

import (
	"fmt"
	"math/big"
)

// Vector is one of the vectors of sums that noise stands on as a whole.
type Vector int

const (
	// Sums are the statistics of the columns, and n where it is not public.
	Sums Vector = iota
	// SumsWithoutYY are Sums without Σy².
	SumsWithoutYY
	// SumsAndMoments are Sums, and the moments of the covariates of degree 3 and 4.
	SumsAndMoments
	// MomentsAlone are the moments of the covariates of degree 1 to 4.
	MomentsAlone
)

// Sensitivity is how far apart the vector of two neighbouring data sets of m columns can
// be, over the box [-1,1]^m, in scaled units: the largest L1 distance, and the square of
// the largest L2 distance. They are joint over all entries and attained; a box or a lattice
// inside [-1,1]^m can only do with less. docs/sensitivity.md has the proofs.
//
// To add-remove neighbours both are the number of entries, with n among those of the sums.
// To replace-one neighbours, where n is public, they are, of the sums,
//
//	                L1                  L2²
//	with Σy²        m(m+2)²/(2(m+1))    4⌊(m+1)²/4⌋
//	without it      m(m+3)/2            4⌊(m+1)²/4⌋
//
// and with moments what momentSensitivities has. It panics if m is not in 1 … 2²⁰, where
// there are moments of a number of covariates other than 1 … MaxMomentCovariates, and if nb
// is neither.
func (v Vector) Sensitivity(m int, nb Neighbours) (l1, l2Squared *big.Rat) {
	p := m - 1
	if m < 1 || m > 1<<20 || v >= SumsAndMoments && (p < 1 || p > MaxMomentCovariates) {
		panic(fmt.Sprintf("release: sensitivity of sums of %d columns", m))
	}
	switch nb {
	case AddRemove:
		return big.NewRat(v.entries(m), 1), big.NewRat(v.entries(m), 1)
	case ReplaceOne:
	default:
		panic(fmt.Sprintf("release: unknown neighbours %q", string(nb)))
	}
	k := int64(m)
	l2Squared = big.NewRat(4*((k+1)*(k+1)/4), 1)
	switch v {
	case Sums:
		return big.NewRat(k*(k+2)*(k+2), 2*(k+1)), l2Squared
	case SumsWithoutYY:
		return big.NewRat(k*(k+3), 2), l2Squared
	}
	s := momentSensitivities[v][p-1]
	return big.NewRat(s.l1, 1e9), big.NewRat(s.l2Squared, 1)
}

// momentSensitivities are those to replace-one neighbours, of p = 1, 2, 3 covariates, the
// L1 one in billionths. Over the box, for any list of monomials and with N of them,
//
//	max ‖t(v) − t(w)‖₁  = N − min_u Σ_α u^α        at v = (1, …, 1), w = u,
//	max ‖t(v) − t(w)‖₂² = max_u Σ_α (1 − u^α)²     at the same.
//
// The first minimum is that of a convex quartic in one variable, here rounded so
// that the sensitivity is up in the ninth decimal; the second maximum is at a
// corner. Tests of package ssp certify both.
var momentSensitivities = map[Vector][MaxMomentCovariates]struct{ l1, l2Squared int64 }{
	SumsAndMoments: {{7_375000000, 12}, {18_458196126, 32}, {39_519311059, 72}},
	MomentsAlone:   {{4_326446777, 8}, {14_452561040, 24}, {34_519025147, 64}},
}

// entries counts those of m columns; among the sums n.
func (v Vector) entries(m int) int64 {
	switch v {
	case SumsWithoutYY:
		return int64(Length(m))
	case SumsAndMoments:
		return int64(1 + Length(m) + len(MomentExponents(m-1, leastTogether)))
	case MomentsAlone:
		return int64(len(MomentExponents(m-1, leastApart)))
	}
	return int64(1 + Length(m))
}

// vector is the one that Noise is on.
func (r *Release) vector() Vector {
	switch {
	case r.together():
		return SumsAndMoments
	case r.WithoutYY():
		return SumsWithoutYY
	}
	return Sums
}

// least is the proven sensitivity of a vector in the norm of the noise: L1, or the square
// of L2.
func (r *Release) least(v Vector) *big.Rat {
	l1, l2Squared := v.Sensitivity(r.Dim(), r.Privacy.Neighbours)
	if r.Noise.Kind == Gaussian {
		return l2Squared
	}
	return l1
}
