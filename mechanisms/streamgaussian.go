package mechanisms

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

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
// gaussianSampler, with more digits of x. As there, neither the direction of ties nor
// the order of rounding and sign matters.
func (s *Stream) gaussian(sigma uint64) int64 {
	k, negative := s.normal()
	high, low := bits.Mul64(sigma, s.x.first)
	low, carry := bits.Add64(low, 1<<63, 0)
	y := int64(sigma*k + high + carry)
	if low > -sigma { // low + σ > 2⁶⁴
		y = s.undecided(k, sigma)
	}
	if negative {
		return -y
	}
	return y
}

// undecided returns the integer part modulo 2⁶⁴, from as many digits of x as it takes.
func (s *Stream) undecided(k, sigma uint64) int64 {
	g := gaussianSampler{gaussian: new(gaussian)}
	g.p.SetUint64(sigma)
	g.q.SetUint64(1)
	digits := binary.BigEndian.AppendUint64(nil, s.x.first)
	defer func() { clear(digits) }()
	var y big.Int
	for i := 0; ; i++ {
		digits = binary.BigEndian.AppendUint64(digits, s.x.digit(i, s))
		if g.round(&y, k, digits) {
			return int64(y.And(&y, mask).Uint64())
		}
	}
}

var mask = new(big.Int).SetUint64(^uint64(0))

// normal draws a standard normal variate ±(k + x), x being s.x: Algorithm N of Karney
// (ACM TOMS 42(1), 2016), step by step as in normalSampler, which has the mathematics.
func (s *Stream) normal() (k uint64, negative bool) {
	for {
		k = 0
		for s.expHalf() {
			k++
		}
		if !s.expHalfAll(k) {
			continue
		}
		s.x.reset(s)
		if s.accept(k) {
			return k, s.Uint64()>>63 == 1
		}
	}
}

// expHalf returns true with probability e^{−1/2}.
func (s *Stream) expHalf() bool {
	last, next := &s.a, &s.b
	last.reset(s)
	if last.first >= 1<<63 {
		return true
	}
	for even := false; ; even = !even {
		next.reset(s)
		if !next.less(last, s) {
			return even
		}
		last, next = next, last
	}
}

// expHalfAll returns true with probability e^{−k(k−1)/2}.
func (s *Stream) expHalfAll(k uint64) bool {
	for range k {
		for range k - 1 {
			if !s.expHalf() {
				return false
			}
		}
	}
	return true
}

// accept returns true with probability e^{−x(2k+x)/2}.
func (s *Stream) accept(k uint64) bool {
	for range k + 1 {
		if !s.acceptOnce(k) {
			return false
		}
	}
	return true
}

// acceptOnce returns true with probability e^{−x(2k+x)/(2k+2)}.
func (s *Stream) acceptOnce(k uint64) bool {
	last, next, spare := &s.x, &s.a, &s.b
	for even := true; ; even = !even {
		next.reset(s)
		if !next.less(last, s) || !s.trial(k) {
			return even
		}
		last, next, spare = next, spare, next
	}
}

// trial returns true with probability (2k+x)/(2k+2).
func (s *Stream) trial(k uint64) bool {
	switch s.Below(2*k + 2) {
	case 0:
		return false
	case 1:
		s.r.reset(s)
		return s.r.less(&s.x, s)
	}
	return true
}
