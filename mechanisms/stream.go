package mechanisms

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
)

// Stream is a fast source for computations that need millions of variates, such as
// private stochastic optimisation: ChaCha8, of which the key comes from an Entropy, and
// which replaces its own key as it goes on (https://c2sp.org/chacha8rand). It is as
// private as ChaCha8 is a good cipher. A Stream serves one goroutine.
type Stream struct {
	chacha    *rand.ChaCha8
	simulated bool
	normal    *stripSampler
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
	return newStream(key, source.simulated)
}

func newStream(key [32]byte, simulated bool) *Stream {
	s := &Stream{chacha: rand.NewChaCha8(key), simulated: simulated}
	s.normal = newStripSampler(s)
	return s
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

// AddGaussian adds independent noise R(σX) to every entry of z: the law of Gaussian,
// for an integer σ from 1 to 2⁶². It panics for others. Sums wrap around as those of
// integers do: what follows from the result modulo 2⁶⁴ is post-processing.
func (s *Stream) AddGaussian(z []int64, sigma uint64) {
	if sigma == 0 || sigma > 1<<62 {
		panic("mechanisms: the standard deviation of Gaussian noise must be from 1 to 2^62")
	}
	if len(z) > streamPart {
		s.addParts(z, sigma)
		return
	}
	for i := range z {
		z[i] += s.gaussian(sigma)
	}
}

// streamPart is the longest vector whose noise one stream draws.
const streamPart = 1 << 14

// addParts has a stream for each part of z, so that all cores draw. Their keys are drawn from this
// one, so noise follows from its key, whatever the number of cores is.
func (s *Stream) addParts(z []int64, sigma uint64) {
	var group sync.WaitGroup
	for part := range slices.Chunk(z, streamPart) {
		var key [32]byte
		for at := 0; at < len(key); at += 8 {
			binary.LittleEndian.PutUint64(key[at:], s.Uint64())
		}
		of := newStream(key, s.simulated)
		clear(key[:])
		group.Go(func() { of.AddGaussian(part, sigma) })
	}
	group.Wait()
}

// gaussian returns R(σX), X = ±(k + x): where N/2⁶⁴ < x < (N+1)/2⁶⁴,
//
//	σ|X| + ½ = σk + (σN + 2⁶³ + σr)/2⁶⁴, r in (0, 1),
//
// whose integer part is known if adding σ carries nothing over; else it is left to
// the mechanism's way, with more digits of x. As there, neither the direction of ties nor
// the order of rounding and sign matters.
func (s *Stream) gaussian(sigma uint64) int64 {
	k, negative := s.normal.draw()
	high, low := bits.Mul64(sigma, s.normal.x[0])
	low, carry := bits.Add64(low, 1<<63, 0)
	y := int64(sigma*k + high + carry)
	if low > -sigma { // low + σ > 2⁶⁴
		g := gaussian{p: new(big.Int).SetUint64(sigma), q: one}
		defer func() { clear(g.bytes) }()
		var whole big.Int
		g.decide(&whole, k, &s.normal.x, s.normal.digits)
		y = int64(whole.And(&whole, mask).Uint64())
	}
	if negative { // as often as not: a conditional move, no branch
		y = -y
	}
	return y
}

var mask = new(big.Int).SetUint64(^uint64(0))
