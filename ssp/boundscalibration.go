package ssp

import (
	"errors"
	"math"
	"math/big"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Failures of private bounds: the probability that a bin without rows is significant
// in any column, and the probability that a bin with BoundsCalibration.Found rows is
// not, where that would move a bound of any column. Each is at most
const boundsFailure = 0.005

// findable is the part of the rows that a bin must hold, at most, to be found: one in
// so many.
const findable = 10

// BoundsCalibration is what private bounds come to before a row is read.
type BoundsCalibration struct {
	Scale     *big.Rat // of the discrete Laplace noise on each count
	Threshold int64    // from which on a noisy count is significant
	Found     int64    // a bin of so many rows is significant, but for the failure above
	Rows      int64    // needed, so that a bin with a tenth of all rows is found
}

// CalibrateBounds returns the noise on the histograms of magnitudes of so many
// columns and what follows from it (docs/bounds-auto.md has the proofs). One row is
// in one bin of each column at most, so for K columns the L1 sensitivity is Δ = 2K
// for replace-one neighbours and K for add-remove ones; the scale is b = Δ/ε, ε the
// decimal it is written as. With q = e^{-1/b} and KJ bins in all,
//
//	P(noise ≥ k) = q^k/(1+q),  k = 1, 2, …,
//
// gives the smallest threshold T with KJ·q^T/(1+q) ≤ 0.005, and the smallest count C
// with 2K·P(C + noise < T) = 2K·q^(C-T+1)/(1+q) ≤ 0.005.
//
// Errors: no column, unknown neighbours, ε not in [MinEpsilon, MaxEpsilon].
func CalibrateBounds(columns int, epsilon float64, nb release.Neighbours) (BoundsCalibration, error) {
	if columns < 1 || columns > schema.MaxColumns {
		return BoundsCalibration{}, errors.New("private bounds are of one column at least")
	}
	if err := checkPrivacy(release.Privacy{Epsilon: epsilon, Neighbours: nb}, release.Laplace); err != nil {
		return BoundsCalibration{}, err
	}
	scale := new(big.Rat).Quo(BoundsSensitivity(columns, nb), number.Decimal(epsilon))
	b, _ := scale.Float64()
	above := func(events int) int64 { // the smallest k ≥ 1 with events·P(noise ≥ k) ≤ boundsFailure
		return max(1, int64(math.Ceil(b*math.Log(float64(events)/(boundsFailure*(1+math.Exp(-1/b)))))))
	}
	c := BoundsCalibration{Scale: scale, Threshold: above(columns * binsAColumn)}
	c.Found = c.Threshold - 1 + above(2*columns)
	c.Rows = findable * c.Found
	return c, nil
}

// BoundsSensitivity is the L1 sensitivity of the histograms of magnitudes of so many
// columns, together.
func BoundsSensitivity(columns int, nb release.Neighbours) *big.Rat {
	if nb == release.AddRemove {
		return big.NewRat(int64(columns), 1)
	}
	return big.NewRat(2*int64(columns), 1)
}

// AfterBounds is what bounds that cost epsilon leave of a privacy for the statistics:
// the largest ε whose decimal and that of epsilon add up to no more than pr's. It is
// 0 where nothing is left.
func AfterBounds(pr release.Privacy, epsilon float64) release.Privacy {
	rest := new(big.Rat).Sub(number.Decimal(pr.Epsilon), number.Decimal(epsilon))
	pr.Epsilon = max(0, roundDown(rest))
	if up := math.Nextafter(pr.Epsilon, math.Inf(1)); number.Decimal(up).Cmp(rest) <= 0 {
		pr.Epsilon = up // 1 - 0.1 is above the float64 that 0.9 stands for
	}
	for pr.Epsilon > 0 && number.Decimal(pr.Epsilon).Cmp(rest) > 0 {
		pr.Epsilon = math.Nextafter(pr.Epsilon, 0)
	}
	return pr
}
