package ssp

import (
	"errors"
	"fmt"
	"math/bits"
)

// places is what every pass over rows does with one of them: it rounds it to the lattice,
// as Accumulator.Add does, takes it to the frame and keeps a digest.
type places struct {
	ball    *Ball
	shift   []uint8 // row j is in units of 2^(shift[j]) when it leaves
	n       int64
	digest  Digest
	from, u []int64 // of the row at hand: v − c, and u
}

// newPlaces returns places on the lattice 2^-lattice, where that is no finer than what W(v-c)
// is in. A sum of less than 2⁶¹ is 0 in units of 2⁶² and of all above.
func (b *Ball) newPlaces(lattice int) places {
	p := places{ball: b, shift: make([]uint8, b.Dim()), from: make([]int64, b.Dim()), u: make([]int64, b.Dim())}
	for j, e := range b.digits {
		p.shift[j] = uint8(min(e+LatticeBits-lattice, 62))
	}
	return p
}

// Dim is m, the length of a row.
func (p *places) Dim() int { return len(p.u) }

// N is the number of rows added.
func (p *places) N() int64 { return p.n }

// Digest is that of the rows added.
func (p *places) Digest() Digest { return p.digest }

// whole panics if these are no rows.
func (p *places) whole(rows []float64) {
	if len(rows)%p.Dim() != 0 {
		panic(fmt.Sprintf("ssp: rows of length %d for %d columns", len(rows), p.Dim()))
	}
}

// take sets u to the place of a row.
func (p *places) take(row []float64) error {
	if p.n >= MaxRows {
		return errTooManyRows
	}
	hash, centre, from := uint64(digestSeed), p.ball.centre[:len(row)], p.from[:len(row)]
	for i, v := range row {
		k, ok := toLattice(v)
		if !ok {
			return offBox(i)
		}
		from[i] = int64(k) - centre[i]
		hash = bits.RotateLeft64((hash^uint64(int64(k)))*digestPrime, 29)
	}
	matrix, shift := p.ball.matrix, p.shift[:len(from)]
	for j := range p.u[:len(from)] {
		sum, d := int64(0), from[:j+1]
		for i, a := range matrix[:len(d)] {
			sum += a * d[i]
		}
		matrix = matrix[len(d):]
		s := shift[j] & 63
		p.u[j] = (sum + 1<<s>>1) >> s
	}
	p.digest.add(hash)
	p.n++
	return nil
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
type Digest struct{ sums [2]uint64 }

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

// Format prints nothing of it, whatever the verb.
func (d Digest) Format(f fmt.State, _ rune) { fmt.Fprint(f, "ssp.Digest(withheld)") }
