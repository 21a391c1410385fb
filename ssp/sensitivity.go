package ssp

import (
	"fmt"
	"math/big"

	"github.com/dpreg/dpreg/release"
)

// Sensitivities: how far apart the statistics of two neighbouring data sets can
// be, over the box [-1,1]^m, in scaled units. They are joint over all entries and
// attained; docs/sensitivity.md has the proofs. A box or a lattice inside
// [-1,1]^m can only do with less.

// SensitivityL1 is the largest L1 distance: m(m+2)²/(2(m+1)) for replace-one
// neighbours, where n is public; 1 + m + m(m+1)/2 for add-remove neighbours,
// where n is one of the statistics. It panics if m < 1 or nb is neither.
func SensitivityL1(m int, nb release.Neighbours) *big.Rat {
	k := columns(m)
	switch nb {
	case release.ReplaceOne:
		return big.NewRat(k*(k+2)*(k+2), 2*(k+1))
	case release.AddRemove:
		return big.NewRat(1+k+k*(k+1)/2, 1)
	}
	panic(unknownNeighbours(nb))
}

// SensitivityL2Squared is the square of the largest L2 distance: 4·⌊(m+1)²/4⌋
// for replace-one neighbours, where n is public; 1 + m + m(m+1)/2 for add-remove
// neighbours, where n is one of the statistics. It panics if m < 1 or nb is
// neither.
func SensitivityL2Squared(m int, nb release.Neighbours) *big.Rat {
	k := columns(m)
	switch nb {
	case release.ReplaceOne:
		return big.NewRat(4*((k+1)*(k+1)/4), 1)
	case release.AddRemove:
		return big.NewRat(1+k+k*(k+1)/2, 1)
	}
	panic(unknownNeighbours(nb))
}

// PaperSensitivity is the L1 sensitivity (replace-one) that Bernstein & Sheldon
// (Differentially Private Bayesian Linear Regression, NeurIPS 2019) calibrate to:
// with d = p+1 features, the unit feature among them, and widths w_X, w_Y,
//
//	Δ_s = w_X² d(d+1)/2 + w_X w_Y d + w_Y²,
//
// which is 2(m+1)(m+2) for w_X = w_Y = 2, d = m. It bounds entries one by one and
// counts the unit feature as one of width 2; on this box it is 4 to 4.5 times
// SensitivityL1, so it wastes noise and protects. On boxes away from zero a
// formula in widths is wrong; here it only ever meets [-1,1]. It panics if m < 1.
func PaperSensitivity(m int) *big.Rat {
	k := columns(m)
	return big.NewRat(2*(k+1)*(k+2), 1)
}

// columns keeps m where the closed forms fit in an int64.
func columns(m int) int64 {
	if m < 1 || m > 1<<20 {
		panic(fmt.Sprintf("ssp: sensitivity for %d columns", m))
	}
	return int64(m)
}

func unknownNeighbours(nb release.Neighbours) string {
	return fmt.Sprintf("ssp: unknown neighbours %q", string(nb))
}

// Sensitivities of moments of p = 1, 2, 3 covariates to replace-one neighbours
// (docs/sensitivity.md). Over the box, for any list of monomials and with N of them,
//
//	max ‖t(v) − t(w)‖₁  = N − min_u Σ_α u^α        at v = (1, …, 1), w = u,
//	max ‖t(v) − t(w)‖₂² = max_u Σ_α (1 − u^α)²     at the same.
//
// The first minimum is that of a convex quartic in one variable, here rounded so
// that the sensitivity is up in the ninth decimal; the second maximum is at a
// corner. momentsensitivity_test.go certifies both.
var (
	momentsL1         = [...]*big.Rat{big.NewRat(4_326446777, 1e9), big.NewRat(14_452561040, 1e9), big.NewRat(34_519025147, 1e9)}
	togetherL1        = [...]*big.Rat{big.NewRat(59, 8), big.NewRat(18_458196126, 1e9), big.NewRat(39_519311059, 1e9)}
	togetherL2Squared = [...]int64{12, 32, 72}
)

// MomentsL1 is the L1 sensitivity of all moments of degree 1 to 4 of p covariates;
// to add-remove neighbours it is their number. It panics if p is not in
// 1 … release.MaxMomentCovariates or nb is unknown.
func MomentsL1(p int, nb release.Neighbours) *big.Rat {
	checkMoments(p, nb)
	if nb == release.AddRemove {
		return big.NewRat(int64(len(release.MomentExponents(p, 1))), 1)
	}
	return new(big.Rat).Set(momentsL1[p-1])
}

// TogetherL1 is the L1 sensitivity of the statistics of p+1 columns and the moments
// of degree 3 and 4 of the p covariates, as one vector; to add-remove neighbours,
// where n is in it too, the length of it. It panics as MomentsL1 does.
func TogetherL1(p int, nb release.Neighbours) *big.Rat {
	checkMoments(p, nb)
	if nb == release.AddRemove {
		return together(p)
	}
	return new(big.Rat).Set(togetherL1[p-1])
}

// TogetherL2Squared is the square of the L2 sensitivity of the same vector. It
// panics as MomentsL1 does.
func TogetherL2Squared(p int, nb release.Neighbours) *big.Rat {
	checkMoments(p, nb)
	if nb == release.AddRemove {
		return together(p)
	}
	return big.NewRat(togetherL2Squared[p-1], 1)
}

// together counts n, the statistics and the moments of degree 3 and 4.
func together(p int) *big.Rat {
	return big.NewRat(int64(1+release.Length(p+1)+len(release.MomentExponents(p, leastSummed))), 1)
}

func checkMoments(p int, nb release.Neighbours) {
	if p < 1 || p > release.MaxMomentCovariates {
		panic(fmt.Sprintf("ssp: sensitivity of moments of %d covariates", p))
	}
	if nb != release.ReplaceOne && nb != release.AddRemove {
		panic(unknownNeighbours(nb))
	}
}
