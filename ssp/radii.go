package ssp

import (
	"math/big"
	"math/bits"
)

// RadiusCount counts rows by ‖u‖², before clipping, in the bins of release.Radii. It is not
// safe for concurrent use: give each worker its own, and Merge them. The result is the same
// however rows are ordered or divided, and on every machine.
//
// The bins follow from the frame alone. The last ends at or above every ‖u‖² of the box. The
// first ends at a sixteenth of m or below, where m is what whitened rows have on average,
// and at 2⁻¹⁵ of that upper end or below.
type RadiusCount struct {
	places
	least int // exponent of the edges, as release.Radii has it
	zero  int // of an integer q = 1: its ‖u‖² is 2^(zero/2)
	count []int64
}

// Where bins begin, in steps of √2: below the upper end, and below m.
const radiiBelowReach, radiiBelowMean = 30, 8

// Radii returns an empty counter. The frame's radius does not matter.
//
// With C ≥ ‖u‖² throughout the box, Σ_j reach_j², the u_j are rounded to multiples of 2^−g,
// g the largest integer with C·4^g ≤ 2⁵¹. A sum of their squares, q, is then below 2⁵²,
// since rounding adds √m/2 to the root at most.
func (b *Ball) Radii() *RadiusCount {
	reach := new(big.Rat)
	for j, r := range b.reach() {
		u := new(big.Rat).Mul(new(big.Rat).SetInt64(int64(r)), powerOfTwo(-b.digits[j]-LatticeBits))
		reach.Add(reach, u.Mul(u, u))
	}
	lattice := (51 - ratCeilLog2(reach)) >> 1
	top := ratCeilLog2(new(big.Rat).Mul(reach, reach))
	least := min(top-radiiBelowReach, 2*bits.Len(uint(b.Dim()))-2-radiiBelowMean)
	return &RadiusCount{
		places: b.newPlaces(lattice, make([]float64, b.Dim()*stride)),
		least:  least,
		zero:   -4 * lattice,
		count:  make([]int64, top-least+1),
	}
}

// ratCeilLog2 is the least b with 2^b ≥ x > 0.
func ratCeilLog2(x *big.Rat) int {
	b := x.Num().BitLen() - x.Denom().BitLen() - 1
	for powerOfTwo(b).Cmp(x) < 0 {
		b++
	}
	return b
}

func powerOfTwo(b int) *big.Rat {
	power := new(big.Int).Lsh(big.NewInt(1), uint(max(b, -b)))
	if b < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), power)
	}
	return new(big.Rat).SetInt(power)
}

// AddRows counts rows of scaled values, with the errors of Accumulator.AddRows. It allocates
// nothing.
func (c *RadiusCount) AddRows(rows []float64) error { return c.addRows(rows, c.flush) }

func (c *RadiusCount) flush() {
	c.move()
	for _, square := range c.square[:c.rows] {
		c.count[c.bin(uint64(square))]++
	}
	c.rows = 0
}

// rootTwo is ⌊√2·2⁶²⌋.
const rootTwo = 0x5a827999fcef3242

// bin is the one of ‖u‖² = q·2^(zero/2), q < 2⁶². The least h with q ≤ 2^(h/2) is, with
// a = ⌊log2 q⌋, 2a where q = 2^a, 2a+1 where q ≤ ⌊√2·2^a⌋, and else 2a+2.
func (c *RadiusCount) bin(q uint64) int {
	if q == 0 {
		return 0
	}
	a := bits.Len64(q) - 1
	h := 2 * a
	if q > 1<<a {
		h++
	}
	if q > rootTwo>>(62-a) {
		h++
	}
	return min(max(h+c.zero-c.least, 0), len(c.count)-1)
}

// Merge adds the rows of other, a *RadiusCount, to c; other keeps its own. It is an error, and c
// is unchanged, if the two are not of one Ball, or have more than MaxRows rows together.
func (c *RadiusCount) Merge(other Summand) error {
	d, ok := other.(*RadiusCount)
	if !ok {
		return errOthers
	}
	if err := c.merge(&d.places); err != nil {
		return err
	}
	d.flush()
	for i, n := range d.count {
		c.count[i] += n
	}
	return nil
}
