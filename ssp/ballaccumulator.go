package ssp

import (
	"math"
	"math/big"
	"math/bits"
)

// BallAccumulator sums rows in a frame, clipped to its radius R: ũ = u·min(1, R/‖u‖). It is
// not safe for concurrent use: give each worker its own, and Merge them. The result is the
// same, bit for bit, however rows are ordered or divided, and on every machine.
//
// With 2^b the least power of two not below R, ũ is a multiple of 2^(b−20), and an
// Accumulator sums the integers, at most 2²⁰ in magnitude, as it sums those of rows.
type BallAccumulator struct {
	places
	sums  *Accumulator // its block is that of places
	limit limit
	row   []int64 // scratch
}

// NewAccumulator returns an empty accumulator. It panics if the frame's radius is 0.
func (b *Ball) NewAccumulator() *BallAccumulator {
	if !(b.frame.Radius > 0) {
		panic("ssp: sums in a frame without a radius")
	}
	sums := NewAccumulator(b.Dim())
	return &BallAccumulator{
		places: b.newPlaces(radiusLattice(b.frame.Radius), sums.block[stride:]),
		sums:   sums,
		limit:  limitOf(b.frame.Radius),
		row:    make([]int64, b.Dim()),
	}
}

// radiusLattice is 20 − b: rows clipped to this radius are multiples of 2^-radiusLattice.
func radiusLattice(radius float64) int { return LatticeBits - ceilLog2(radius) }

// AddRows adds rows of scaled values as Accumulator.AddRows does, with its errors. It
// allocates nothing.
func (s *BallAccumulator) AddRows(rows []float64) error { return s.addRows(rows, s.flush) }

// flush moves the rows of the block to the sums.
func (s *BallAccumulator) flush() {
	s.move()
	for i, square := range s.square[:s.rows] {
		if square > s.limit.square {
			s.clip(i)
		}
	}
	s.sums.rows, s.rows = s.rows, 0
	s.sums.carry()
}

// clip clips a row of the block. Its entries are below 2⁵³·2⁸ in magnitude: at the least
// radius and the steepest row a unit of W(v − c) is 2⁸ of u.
func (s *BallAccumulator) clip(at int) {
	for j := range s.row {
		s.row[j] = int64(s.block[j*stride+at])
	}
	s.limit.clip(s.row)
	for j, x := range s.row {
		s.block[j*stride+at] = float64(x)
	}
}

// limit holds integers u to Σu_j² ≤ L², L = 2^(20−b)R ≤ 2²⁰.
type limit struct {
	whole  int64   // ⌊L⌋
	square float64 // ⌊L²⌋
}

func limitOf(radius float64) limit {
	whole := math.Ldexp(radius, radiusLattice(radius)) // exact
	squared := square(whole)
	return limit{int64(whole), float64(new(big.Int).Quo(squared.Num(), squared.Denom()).Uint64())}
}

// clip takes up to 1000 integers, at most 2⁶¹ in magnitude and beyond the limit, to it. They
// lose digits until they are below 2²⁶, so that their squares have a sum q < 2⁶². With the
// root r = ⌈√q⌉ and f = ⌊2³⁰⌊L⌋/r⌋
//
//	ũ_j = u_j·f/2³⁰ towards 0,   Σũ_j² ≤ q·(L/r)² ≤ L².
//
// Where digits were lost, one integer has 26 and r ≥ 2²⁵; else r > ⌊L⌋. So f ≤ 2³⁰, and
// products are below 2⁵⁶.
func (l limit) clip(u []int64) {
	var all uint64 // has as many digits as the largest magnitude
	for _, x := range u {
		all |= uint64(max(x, -x))
	}
	if lost := bits.Len64(all) - 26; lost > 0 {
		for j, x := range u {
			u[j] = x / (1 << lost)
		}
	}
	f := l.whole << 30 / int64(ceilSqrt(squares(u)))
	for j, x := range u {
		u[j] = x * f / (1 << 30)
	}
}

func squares(u []int64) (sum uint64) {
	for _, x := range u {
		sum += uint64(x * x)
	}
	return sum
}

// ceilSqrt is ⌈√q⌉ for 0 < q < 2⁶²: a float64 is where the search begins.
func ceilSqrt(q uint64) uint64 {
	r := uint64(math.Sqrt(float64(q)))
	for r*r < q {
		r++
	}
	for (r-1)*(r-1) >= q {
		r--
	}
	return r
}

// Merge adds the rows of other, a *BallAccumulator, to s; other keeps its own. It is an error,
// and s is unchanged, if the two are not of one Ball, or have more than MaxRows rows together.
func (s *BallAccumulator) Merge(other Summand) error {
	t, ok := other.(*BallAccumulator)
	if !ok {
		return errOthers
	}
	if err := s.merge(&t.places); err != nil {
		return err
	}
	s.flush()
	t.flush()
	return s.sums.Merge(t.sums)
}
