package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// places is what every pass over rows does with them: it rounds each to the lattice, as
// Accumulator.Add does, and keeps a digest; and takes them to the frame, by the block, whose
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
