package mechanisms

import (
	"math/bits"
	"math/rand/v2"
)

// Stream is a fast source for computations that need millions of variates, such as
// private stochastic optimisation: ChaCha8, of which the key comes from an Entropy, and
// which replaces its own key as it goes on (https://c2sp.org/chacha8rand). It is as
// private as ChaCha8 is a good cipher. A Stream serves one goroutine.
type Stream struct {
	chacha    *rand.ChaCha8
	simulated bool

	x       lazy // the fractional part of the normal variate
	a, b, r lazy // scratch
}

// NewStream takes a key of 256 bits from e. It panics if e was not made by OS or
// Simulated.
func NewStream(e *Entropy) *Stream {
	source := e.mustState()
	source.mu.Lock()
	defer source.mu.Unlock()
	defer source.drop()
	var key [32]byte
	defer clear(key[:])
	source.read(key[:])
	return &Stream{chacha: rand.NewChaCha8(key), simulated: source.simulated}
}

// IsSimulated reports whether the key came from Simulated.
func (s *Stream) IsSimulated() bool { return s.simulated }

// Uint64 returns 64 uniform bits.
func (s *Stream) Uint64() uint64 { return s.chacha.Uint64() }

// Below returns a uniform integer in {0, …, n−1}, exactly; it panics if n is 0. The
// product of 64 uniform bits and n has it in its upper half, where its lower half is
// not among the first 2⁶⁴ mod n (Lemire, Fast Random Integer Generation in an Interval,
// ACM TOMACS 29(1), 2019).
func (s *Stream) Below(n uint64) uint64 {
	for {
		high, low := bits.Mul64(s.Uint64(), n)
		if low >= n || low >= -n%n {
			return high
		}
	}
}

// lazy is a uniform variate in (0, 1) of which the first 64 bits are known, and more
// where they were needed: fraction with digits of 64 bits, almost always one.
type lazy struct {
	first uint64
	rest  []uint64
}

func (f *lazy) reset(s *Stream) {
	f.first = s.Uint64()
	f.rest = f.rest[:0]
}

// less reports whether f < g, two different variates.
func (f *lazy) less(g *lazy, s *Stream) bool {
	if f.first != g.first {
		return f.first < g.first
	}
	return f.lessBeyond(g, s)
}

func (f *lazy) lessBeyond(g *lazy, s *Stream) bool {
	for i := 0; ; i++ {
		if x, y := f.digit(i, s), g.digit(i, s); x != y {
			return x < y
		}
	}
}

// digit returns the i-th digit after the first, drawing what is not yet known.
func (f *lazy) digit(i int, s *Stream) uint64 {
	for i >= len(f.rest) {
		f.rest = append(f.rest, s.Uint64())
	}
	return f.rest[i]
}
