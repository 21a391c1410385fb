package ssp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

var errNotGram = errors.New("the sums are none that rows can have together: their matrix is not positive semidefinite")

// StatisticsOf returns statistics that were summed elsewhere over n rows of m values:
// the sums in canonical order as multiples of 2^-40, as BigInts returns them. It
// refuses what no rows in the box have: a number of rows or sums that is not possible, a
// sum of another size or parity, a matrix Σ a aᵀ, a = (1, v), of which two rows and columns are
// not positive semidefinite. Errors tell nothing of the sums. It panics if m < 1.
func StatisticsOf(m int, n int64, sums []*big.Int) (*Statistics, error) {
	s := NewAccumulator(m).Statistics()
	switch {
	case n < 0:
		return nil, errors.New("a negative number of rows")
	case n > MaxRows:
		return nil, errTooManyRows
	case len(sums) != len(s.sum):
		return nil, fmt.Errorf("%d sums where %d columns have %d", len(sums), m, len(s.sum))
	}
	if err := check(m, n, sums); err != nil {
		return nil, err
	}
	s.N = n
	for i, sum := range sums {
		s.sum[i] = int128Of(sum)
	}
	for j, sum := range s.sum[:m] {
		if sum.lo%unit != 0 {
			return nil, fmt.Errorf("sum %d is none that so many rows can have", j+1)
		}
		// k² and k are both even or both odd.
		if square := s.sum[release.Index(m, j, j)]; (sum.lo>>LatticeBits^square.lo)&1 != 0 {
			return nil, fmt.Errorf("the sum of column %d and that of its squares are not of the same integers: are they rounded?", j+1)
		}
	}
	if !everyTwo(s.Gram()) {
		return nil, errNotGram
	}
	return s, nil
}

func int128Of(x *big.Int) int128 {
	hi := new(big.Int).Rsh(x, 64) // towards -∞
	lo := new(big.Int).Sub(x, new(big.Int).Lsh(hi, 64))
	return int128{hi.Int64(), lo.Uint64()}
}

// everyTwo tells whether b_ij² ≤ b_ii b_jj throughout, b given by its upper triangle, where no
// diagonal entry is negative.
func everyTwo(b [][]*big.Int) bool {
	var left, right big.Int
	for j := range b {
		for i, row := range b[:j] {
			if left.Mul(row[j], row[j]).Cmp(right.Mul(row[i], b[j][j])) > 0 {
				return false
			}
		}
	}
	return true
}

// FromVector returns statistics of n rows of m columns that no row was summed
// for, for simulations: v has them in canonical order and scaled units, and each
// is rounded to the nearest multiple of 2^-40, ties to even. Noise then comes
// from Publish, as it does for rows.
//
// Errors: n not in 1 … MaxRows, v of another length, a number above 1000·MaxRows
// in magnitude, or NaN: values drawn from a law without bounds may be beyond the box
// that rows are clamped to, but 128 bits have an end. It panics if m < 1.
func FromVector(m int, n int64, v []float64) (*Statistics, error) {
	s := NewAccumulator(m).Statistics()
	if n < 1 || n > MaxRows {
		return nil, fmt.Errorf("n = %d: simulated statistics are of 1 to %d rows", n, int64(MaxRows))
	}
	if len(v) != len(s.sum) {
		return nil, fmt.Errorf("%d statistics for %d columns, which have %d", len(v), m, len(s.sum))
	}
	s.N = n
	for i, x := range v {
		if !(math.Abs(x) <= 1000*MaxRows) {
			return nil, fmt.Errorf("statistic %d is %v: out of range", i+1, x)
		}
		z, _ := big.NewFloat(math.RoundToEven(math.Ldexp(x, 2*LatticeBits))).Int(nil)
		s.sum[i] = int128Of(z)
	}
	return s, nil
}

// The encoding of an accumulator: 8 bytes of name and version, m and n as big-endian
// 64-bit integers, and the sums in canonical order as 128-bit ones in two's complement.
const (
	encodingName   = "dpregac1"
	encodingHeader = len(encodingName) + 8 + 8
	encodedSum     = 16
)

// MarshalBinary encodes the sums exactly, so that accumulators can be merged where
// their rows are not. Equal sums have equal encodings, however the rows came. What it
// returns is as sensitive as the rows. It never fails.
func (a *Accumulator) MarshalBinary() ([]byte, error) {
	a.carry()
	out := make([]byte, 0, encodingHeader+encodedSum*len(a.total))
	out = append(out, encodingName...)
	out = binary.BigEndian.AppendUint64(out, uint64(a.m))
	out = binary.BigEndian.AppendUint64(out, uint64(a.n))
	for _, sum := range a.total {
		out = binary.BigEndian.AppendUint64(out, uint64(sum.hi))
		out = binary.BigEndian.AppendUint64(out, sum.lo)
	}
	return out, nil
}

// UnmarshalBinary makes a what was encoded, whatever it was before. It is an error,
// and a is unchanged, if data is no encoding of an accumulator, or one that no rows
// have: of more than MaxRows rows, or with a sum that they cannot reach. Errors tell
// nothing of the sums.
func (a *Accumulator) UnmarshalBinary(data []byte) error {
	if len(data) < encodingHeader || string(data[:len(encodingName)]) != encodingName {
		return errors.New("these are not the encoded sums of an accumulator, or of another version")
	}
	rest := data[len(encodingName):]
	m, n := binary.BigEndian.Uint64(rest), binary.BigEndian.Uint64(rest[8:])
	rest = rest[16:]
	if m < 1 || m > schema.MaxColumns {
		return fmt.Errorf("encoded sums over %d columns: from 1 to %d are possible", m, schema.MaxColumns)
	}
	if n > MaxRows {
		return errTooManyRows
	}
	b := NewAccumulator(int(m))
	if len(rest) != encodedSum*len(b.total) {
		return fmt.Errorf("encoded sums over %d columns have %d bytes, not %d", m, encodingHeader+encodedSum*len(b.total), len(data))
	}
	b.n = int64(n)
	for i := range b.total {
		b.total[i] = int128{int64(binary.BigEndian.Uint64(rest)), binary.BigEndian.Uint64(rest[8:])}
		rest = rest[encodedSum:]
	}
	if err := check(b.m, b.n, bigInts(b.total)); err != nil {
		return fmt.Errorf("the encoding is damaged: %w", err)
	}
	*a = *b
	return nil
}

// check refuses sums that n rows in the box, or persons of whom each counts as one (AddPerson), cannot have:
// |Σ k_i k_j| ≤ 2⁴⁰n, and no negative sums of squares.
func check(m int, n int64, sums []*big.Int) error {
	limit := new(big.Int).Lsh(big.NewInt(n), 2*LatticeBits)
	square, left := m, m // the place of the next sum of squares, and the row's length
	for i, sum := range sums {
		bad := sum.CmpAbs(limit) > 0
		if i == square {
			bad = bad || sum.Sign() < 0
			square, left = square+left, left-1
		}
		if bad {
			return fmt.Errorf("sum %d is none that so many rows can have", i+1)
		}
	}
	return nil
}
