package ssp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"

	"github.com/dpreg/dpreg/schema"
)

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
	if err := b.check(); err != nil {
		return fmt.Errorf("the encoding is damaged: %w", err)
	}
	*a = *b
	return nil
}

// check refuses sums that n rows in the box cannot have: |Σ k_i k_j| ≤ 2⁴⁰n, linear
// sums that are no multiples of 2²⁰, and negative sums of squares.
func (a *Accumulator) check() error {
	limit := new(big.Int).Lsh(big.NewInt(a.n), 2*LatticeBits)
	square, left := a.m, a.m // the place of the next sum of squares, and the row's length
	for i, sum := range bigInts(a.total) {
		bad := sum.CmpAbs(limit) > 0 || i < a.m && a.total[i].lo%unit != 0
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
