package ssp

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/dpreg/dpreg/release"
)

// Pass is what one reading of rows makes of them: sums in the box, or in a frame a count of
// their radii or their sums. It is public, so that processes that share the rows can be told.
type Pass struct {
	Columns int
	Frame   *release.Frame // nil: the box
	Radii   bool           // count them
	Dummies int            // of a factor, which stand before these columns in rows: what is made of them is made level by level
}

// Summand is what a Pass adds rows to: an *Accumulator, *RadiusCount or *BallAccumulator. It is
// encoded exactly, and what was encoded is as sensitive as the rows.
type Summand interface {
	AddRows(rows []float64) error
	Merge(Summand) error
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Empty returns how to make what the rows of a worker are added to. It is an error if the frame is
// not one that RoundFrame returns, or has no radius where rows are summed.
func (p Pass) Empty() (func() Summand, error) {
	if p.Dummies > 0 {
		dummies := p.Dummies
		p.Dummies = 0
		part, err := p.Empty()
		if err != nil {
			return nil, err
		}
		return func() Summand { return newLeveled(dummies, p.Columns, part) }, nil
	}
	if p.Frame == nil {
		return func() Summand { return NewAccumulator(p.Columns) }, nil
	}
	ball, err := NewBall(p.Frame, p.Columns)
	switch {
	case err != nil:
		return nil, err
	case p.Radii:
		return func() Summand { return ball.Radii() }, nil
	case !(p.Frame.Radius > 0):
		return nil, errors.New("sums in a frame without a radius")
	}
	return func() Summand { return ball.NewAccumulator() }, nil
}

// Gather lets scan share rows among so many workers, and adds up what each was handed.
func (p Pass) Gather(workers int, scan func(sinks ...func(rows []float64) error) error) (Summand, error) {
	empty, err := p.Empty()
	if err != nil {
		return nil, err
	}
	all, sinks := make([]Summand, workers), make([]func([]float64) error, workers)
	for i := range all {
		all[i] = empty()
		sinks[i] = all[i].AddRows
	}
	if err := scan(sinks...); err != nil {
		return nil, err
	}
	for _, other := range all[1:] {
		if err := all[0].Merge(other); err != nil {
			return nil, err
		}
	}
	return all[0], nil
}

// Merge adds what two processes encoded.
func (p Pass) Merge(a, b []byte) ([]byte, error) {
	empty, err := p.Empty()
	if err != nil {
		return nil, err
	}
	x, y := empty(), empty()
	if err := errors.Join(x.UnmarshalBinary(a), y.UnmarshalBinary(b)); err != nil {
		return nil, err
	}
	if err := x.Merge(y); err != nil {
		return nil, err
	}
	return x.MarshalBinary()
}

var errOthers = errors.New("cannot merge what two passes made of rows")

// The encodings of what a frame has: the digest and the number of rows, as big-endian 64-bit
// integers, and then the counts of radii likewise, or the sums as an Accumulator has them.
const encodedPlaces = 8 + 8 + 8

func (p *places) encode(room int) []byte {
	out := make([]byte, 0, encodedPlaces+room)
	out, _ = binary.Append(out, binary.BigEndian, []uint64{p.digest.sums[0], p.digest.sums[1], uint64(p.n)})
	return out
}

func (p *places) decode(data []byte) (rest []byte, err error) {
	if len(data) < encodedPlaces {
		return nil, errors.New("these are not rows that were encoded in a frame")
	}
	n := binary.BigEndian.Uint64(data[16:])
	if n > MaxRows {
		return nil, errTooManyRows
	}
	p.digest = Digest{sums: [2]uint64{binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])}}
	p.n, p.rows = int64(n), 0
	return data[encodedPlaces:], nil
}

// MarshalBinary encodes the counts exactly. It never fails.
func (c *RadiusCount) MarshalBinary() ([]byte, error) {
	c.flush()
	return binary.Append(c.encode(8*len(c.count)), binary.BigEndian, c.count)
}

// UnmarshalBinary makes c what was encoded in the same frame. Errors tell nothing of the counts.
func (c *RadiusCount) UnmarshalBinary(data []byte) error {
	rest, err := c.decode(data)
	if err != nil {
		return err
	}
	if len(rest) != 8*len(c.count) {
		return fmt.Errorf("%d bytes are no counts of %d bins", len(rest), len(c.count))
	}
	left := uint64(c.n)
	for i := range c.count {
		n := binary.BigEndian.Uint64(rest[8*i:])
		if n > left {
			return errors.New("the encoding is damaged: there are more radii than rows")
		}
		c.count[i] = int64(n)
		left -= n
	}
	if left > 0 {
		return errors.New("the encoding is damaged: there are fewer radii than rows")
	}
	return nil
}

// MarshalBinary encodes the sums exactly. It never fails.
func (s *BallAccumulator) MarshalBinary() ([]byte, error) {
	s.flush()
	s.sums.n = s.n
	sums, err := s.sums.MarshalBinary()
	return append(s.encode(len(sums)), sums...), err
}

// UnmarshalBinary makes s what was encoded in the same frame. Errors tell nothing of the sums.
func (s *BallAccumulator) UnmarshalBinary(data []byte) error {
	rest, err := s.decode(data)
	if err != nil {
		return err
	}
	var sums Accumulator
	if err := sums.UnmarshalBinary(rest); err != nil {
		return err
	}
	if sums.m != s.Dim() || sums.n != s.n {
		return errors.New("the encoding is damaged: it has other columns or rows than its frame")
	}
	s.sums.total, s.sums.rows = sums.total, 0
	return nil
}
