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

// digit returns 8 uniform bits.
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
