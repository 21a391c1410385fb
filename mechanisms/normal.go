package mechanisms

import "math/big"

// normalSampler draws from the standard normal law: Algorithm N of Karney
// (Sampling Exactly from the Normal Distribution, ACM TOMS 42(1), 2016), with
// von Neumann's comparisons of uniform variates (1951), whose digits are drawn as
// they are needed. Nothing is rounded.
type normalSampler struct {
	source  *entropyState
	x       fraction // the fractional part of the variate
	a, b, r fraction // scratch
	j, m    big.Int
	uniform uniformScratch
}

// newNormalSampler returns a sampler with room for so many digits, and for all
// more that are likely to be needed.
func newNormalSampler(source *entropyState, digits int) normalSampler {
	room := func() fraction { return fraction{make([]byte, 0, digits+16)} }
	return normalSampler{source: source, x: room(), a: room(), b: room(), r: room()}
}

// draw gives the integer part k and the sign of a standard normal variate
// ±(k + x), whose fractional part s.x has as many digits as were needed.
//
// For y = k + x the density exp(−y²/2) is
//
//	e^{−k/2} · e^{−k(k−1)/2} · e^{−x(2k+x)/2}:
//
// k is geometric, and is kept with the probability of the second factor; x is
// uniform, and both are kept with that of the third, a product of k+1 equal ones.
func (s *normalSampler) draw() (k uint64, negative bool) {
	for {
		k = s.geometric()
		if !s.expHalfAll(k) {
			continue
		}
		s.x.reset()
		if s.accept(k) {
			return k, s.source.coin()
		}
	}
}

// geometric returns k with P(k) = (1 − e^{−1/2}) e^{−k/2}.
func (s *normalSampler) geometric() (k uint64) {
	for s.expHalf() {
		k++
	}
	return k
}

// expHalfAll returns true with probability e^{−k(k−1)/2}.
func (s *normalSampler) expHalfAll(k uint64) bool {
	for range k {
		for range k - 1 {
			if !s.expHalf() {
				return false
			}
		}
	}
	return true
}

// expHalf returns true with probability e^{−1/2}. For uniform U_i the
// probability of ½ > U_1 > … > U_n is (½)ⁿ/n!, so that the longest such run is
// of even length with probability Σ_n (−½)ⁿ/n!.
func (s *normalSampler) expHalf() bool {
	last, next := &s.a, &s.b
	last.reset()
	last.extend(s.source)
	if last.digits[0] >= 1<<(digitBits-1) {
		return true
	}
	for even := false; ; even = !even {
		next.reset()
		if !next.less(last, s.source) {
			return even
		}
		last, next = next, last
	}
}

// accept returns true with probability e^{−x(2k+x)/2}.
func (s *normalSampler) accept(k uint64) bool {
	for range k + 1 {
		if !s.acceptOnce(k) {
			return false
		}
	}
	return true
}

// acceptOnce returns true with probability e^{−xf}, f = (2k+x)/(2k+2): as
// expHalf, from the probability (xf)ⁿ/n! that x > U_1 > … > U_n and that n trials
// of probability f succeed as well.
func (s *normalSampler) acceptOnce(k uint64) bool {
	last, next, spare := &s.x, &s.a, &s.b
	for even := true; ; even = !even {
		next.reset()
		if !next.less(last, s.source) || !s.trial(k) {
			return even
		}
		last, next, spare = next, spare, next
	}
}

// trial returns true with probability (2k+x)/(2k+2): of 2k+2 equal cases 2k
// succeed, one does with probability x, and one never.
func (s *normalSampler) trial(k uint64) bool {
	s.m.SetUint64(2*k + 2)
	s.source.below(&s.j, &s.m, &s.uniform)
	switch {
	case s.j.Sign() == 0:
		return false
	case s.j.Cmp(one) == 0:
		s.r.reset()
		return s.r.less(&s.x, s.source)
	}
	return true
}

// wipe clears all digits that were drawn.
func (s *normalSampler) wipe() {
	for _, f := range []*fraction{&s.x, &s.a, &s.b, &s.r} {
		clear(f.digits[:cap(f.digits)])
	}
}

// digitBits is the size of a digit of a fraction: a byte.
const digitBits = 8

// fraction is a uniform variate in (0, 1), Σ digits[i]·256^{−i−1}, of which
// the digits drawn so far are known. Those to come are independent and uniform
// whatever these are, since nothing was ever decided by a digit not yet drawn.
type fraction struct{ digits []byte }

// reset makes a new variate, without a digit.
func (f *fraction) reset() { f.digits = f.digits[:0] }

// extend draws the next digit.
func (f *fraction) extend(source *entropyState) {
	n := len(f.digits)
	f.digits = append(f.digits, 0)
	source.read(f.digits[n:])
}

// less reports whether f < g, two different variates, drawing digits of both
// until they differ: with probability 1 they do.
func (f *fraction) less(g *fraction, source *entropyState) bool {
	for i := 0; ; i++ {
		if i == len(f.digits) {
			f.extend(source)
		}
		if i == len(g.digits) {
			g.extend(source)
		}
		if f.digits[i] != g.digits[i] {
			return f.digits[i] < g.digits[i]
		}
	}
}
