package mechanisms

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"sync"
)

// Entropy is a source of uniform random bytes for noise. There are two kinds,
// apart by construction: OS, for releases, and Simulated, for studies. The zero
// value holds no source, and using it panics.
//
// A copy of an Entropy shares the state of the original: bytes are handed out
// once, whoever asks. Two releases with the same noise would give the exact
// difference of the two inputs.
type Entropy struct {
	state *entropyState
}

type entropyState struct {
	mu        sync.Mutex
	fill      func([]byte)
	simulated bool
	buffer    [512]byte
	used      int // buffer[:used] has been handed out and wiped
}

// OS returns a source of the operating system's randomness (crypto/rand). A
// failure of the system's generator ends the process: there is no weaker
// fallback.
func OS() *Entropy {
	return newEntropy(func(b []byte) {
		if _, err := cryptorand.Read(b); err != nil {
			panic("mechanisms: the operating system's randomness failed: " + err.Error())
		}
	}, false)
}

// Simulated returns a source that draws from rng, for studies in which noise
// must be repeatable. What it makes is not private: rng's output is predictable.
// It panics if rng is nil. Bytes are read from rng in blocks, so rng should have
// no other user whose draws are to be repeatable.
func Simulated(rng *rand.Rand) *Entropy {
	if rng == nil {
		panic("mechanisms: Simulated needs a generator")
	}
	return newEntropy(func(b []byte) {
		for ; len(b) >= 8; b = b[8:] {
			binary.LittleEndian.PutUint64(b, rng.Uint64())
		}
	}, true)
}

// newEntropy's fill is only ever asked for the whole buffer, a multiple of 8 bytes.
func newEntropy(fill func([]byte), simulated bool) *Entropy {
	s := &entropyState{fill: fill, simulated: simulated}
	s.used = len(s.buffer)
	return &Entropy{state: s}
}

// IsSimulated reports whether the source was made by Simulated. It panics on
// the zero value.
func (e *Entropy) IsSimulated() bool { return e.mustState().simulated }

func (e *Entropy) mustState() *entropyState {
	if e == nil || e.state == nil {
		panic("mechanisms: an Entropy must be made by OS or Simulated")
	}
	return e.state
}

// read fills dst with random bytes and wipes them from the buffer.
func (s *entropyState) read(dst []byte) {
	for len(dst) > 0 {
		if s.used == len(s.buffer) {
			s.fill(s.buffer[:])
			s.used = 0
		}
		n := copy(dst, s.buffer[s.used:])
		clear(s.buffer[s.used : s.used+n])
		s.used += n
		dst = dst[n:]
	}
}

// drop discards what is buffered: no random byte outlives the call that asked
// for it, in memory or in a snapshot of the machine.
func (s *entropyState) drop() {
	clear(s.buffer[:])
	s.used = len(s.buffer)
}

// below sets z to a uniform integer in {0, …, n−1}, n ≥ 1, exactly: it draws as
// many bits as n−1 has and starts again while they make n or more (less than
// two rounds on average).
func (s *entropyState) below(z, n *big.Int, scratch *uniformScratch) {
	width := scratch.limit.Sub(n, one).BitLen()
	size := (width + 7) / 8
	if cap(scratch.bytes) < size {
		scratch.bytes = make([]byte, size)
	}
	b := scratch.bytes[:size]
	defer clear(b)
	for {
		s.read(b)
		if excess := 8*size - width; excess > 0 {
			b[0] >>= excess
		}
		if z.SetBytes(b).Cmp(n) < 0 {
			return
		}
	}
}

type uniformScratch struct {
	limit big.Int
	bytes []byte
}

// coin returns a fair bit.
func (s *entropyState) coin() bool { return s.digit()&1 == 1 }

// digit returns 8 uniform bits, the digits of a normalSampler.
func (s *entropyState) digit() uint64 {
	var b [1]byte
	s.read(b[:])
	return uint64(b[0])
}

// uniform is as of below.
func (s *entropyState) uniform(n uint64) uint64 {
	width := bits.Len64(n - 1)
	size := (width + 7) / 8
	for {
		v := s.digit() >> (8*size - width)
		for range size - 1 {
			v = v<<8 | s.digit()
		}
		if v < n {
			return v
		}
	}
}

var one = big.NewInt(1)

// Stream is a fast source for computations that need millions of variates, such as
// private stochastic optimisation: ChaCha8, of which the key comes from an Entropy, and
// which replaces its own key as it goes on (https://c2sp.org/chacha8rand). It is as
// private as ChaCha8 is a good cipher. A Stream serves one goroutine.
type Stream struct {
	chacha    *rand.ChaCha8
	simulated bool
	normal    *normalSampler
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
	s := &Stream{chacha: rand.NewChaCha8(key), simulated: source.simulated}
	s.normal = newNormalSampler(s, wordDigits, 0)
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

func (s *Stream) digit() uint64           { return s.Uint64() }
func (s *Stream) uniform(n uint64) uint64 { return s.Below(n) }
func (s *Stream) coin() bool              { return s.Uint64()>>63 == 1 }

// AddGaussian adds independent noise R(σX) to every entry of z: the law of Gaussian,
// for an integer σ from 1 to 2⁶². It panics for others. Sums wrap around as those of
// integers do: what follows from the result modulo 2⁶⁴ is post-processing.
func (s *Stream) AddGaussian(z []int64, sigma uint64) {
	if sigma == 0 || sigma > 1<<62 {
		panic("mechanisms: the standard deviation of Gaussian noise must be from 1 to 2^62")
	}
	for i := range z {
		z[i] += s.gaussian(sigma)
	}
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
		g := gaussian{p: new(big.Int).SetUint64(sigma), q: one, normal: s.normal}
		defer func() { clear(g.bytes) }()
		var whole big.Int
		g.decide(&whole, k)
		y = int64(whole.And(&whole, mask).Uint64())
	}
	if negative {
		return -y
	}
	return y
}

var mask = new(big.Int).SetUint64(^uint64(0))
