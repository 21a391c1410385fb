package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// places is what every pass over rows does with them: it rounds each to the lattice, as
// Accumulator.AddRows does, and keeps a digest; and takes them to the frame, by the block, whose
// layout is that of an Accumulator without its first column.
type places struct {
	withheld
	ball   *Ball
	n      int64
	digest Digest
	block  []float64 // of v − c, in units of 2⁻²⁰, and after move of u
	rows   int       // of the block
	scale  []float64 // from units of W(v − c) to those of u
	square []float64 // after move: of ‖u‖, row by row
}

// newPlaces returns places on the lattice 2^-lattice. A sum of less than 2⁵³ is 0 in units
// of 2⁶² and of all above.
func (b *Ball) newPlaces(lattice int, block []float64) places {
	p := places{ball: b, block: block, square: make([]float64, blockRows)}
	for _, e := range b.digits {
		p.scale = append(p.scale, math.Ldexp(1, -min(e+LatticeBits-lattice, 62)))
	}
	return p
}

// Dim is m, the length of a row.
func (p *places) Dim() int { return len(p.scale) }

// N is the number of rows added.
func (p *places) N() int64 { return p.n }

// Digest is that of the rows added.
func (p *places) Digest() Digest { return p.digest }

// addRows adds rows to the block, and calls flush when it is full.
func (p *places) addRows(rows []float64, flush func()) error {
	m := p.Dim()
	if len(rows)%m != 0 {
		panic(fmt.Sprintf("ssp: rows of length %d for %d columns", len(rows), m))
	}
	for ; len(rows) > 0; rows = rows[m:] {
		if err := p.add(rows[:m]); err != nil {
			return err
		}
		if p.rows == blockRows {
			flush()
		}
	}
	return nil
}

// add adds a row to the block, which has room.
func (p *places) add(row []float64) error {
	if p.n >= MaxRows {
		return errTooManyRows
	}
	hash, at, centre := uint64(digestSeed), p.rows, p.ball.centre[:len(row)]
	for j, v := range row {
		k, ok := toLattice(v)
		if !ok {
			return offBox(j)
		}
		p.block[at] = k - centre[j]
		at += stride
		hash = bits.RotateLeft64((hash^uint64(int64(k)))*digestPrime, 29)
	}
	p.digest.add(hash)
	p.n++
	p.rows++
	return nil
}

// move takes the block to the frame. Products and their sums are integers below 2⁵³, as
// NewBall has them: exact, in whatever order and with whatever instructions they are
// computed. So is a square below 2⁵³, and one that is not does not end below it.
func (p *places) move() {
	m := p.Dim()
	w := blas64.Triangular{N: m, Stride: m, Data: p.ball.matrix, Uplo: blas.Lower, Diag: blas.NonUnit}
	blas64.Trmm(blas.Left, blas.NoTrans, 1, w, blas64.General{Rows: m, Cols: p.rows, Stride: stride, Data: p.block})
	square := p.square[:p.rows]
	clear(square)
	for j, scale := range p.scale {
		u := p.block[j*stride:][:len(square)]
		for i, x := range u {
			x = math.Floor(float64(x*scale) + 0.5)
			u[i] = x
			square[i] += float64(x * x)
		}
	}
}

// merge adds rows of other places in the same frame.
func (p *places) merge(q *places) error {
	switch {
	case p.ball != q.ball:
		return errors.New("cannot merge rows in two frames")
	case q.n > MaxRows-p.n:
		return errTooManyRows
	}
	p.n += q.n
	for i := range p.digest.sums {
		p.digest.sums[i] += q.digest.sums[i]
	}
	return nil
}

// Digest is a fingerprint of rows on the lattice, whatever their order: two passes over the
// same rows have the same one, and passes over others another, but for one case in about
// 2⁶⁴ where nobody made the rows for it. It compares with ==, and is as sensitive as the
// rows: it stays in memory, and prints as a placeholder.
type Digest struct {
	withheld
	sums [2]uint64
}

const (
	digestSeed  = 0x9e3779b97f4a7c15
	digestPrime = 0xd6e8feb86659fd93
)

// add counts a row with this hash: two sums of hashes of it (Steele, Lea & Flood, Fast
// Splittable Pseudorandom Number Generators, OOPSLA 2014, have the mixing).
func (d *Digest) add(hash uint64) {
	hash = (hash ^ hash>>30) * 0xbf58476d1ce4e5b9
	hash = (hash ^ hash>>27) * 0x94d049bb133111eb
	hash ^= hash >> 31
	d.sums[0] += hash
	hi, lo := bits.Mul64(hash, digestPrime)
	d.sums[1] += hi ^ lo
}

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
