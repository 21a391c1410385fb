package mechanisms

// normalSampler draws from the standard normal law: Algorithm N of Karney
// (Sampling Exactly from the Normal Distribution, ACM TOMS 42(1), 2016), with
// von Neumann's comparisons of uniform variates (1951), whose digits are drawn as
// they are needed. Nothing is rounded.
type normalSampler struct {
	digits
	source  *entropyState
	x       fraction // the fractional part of the variate
	a, b, r fraction // scratch
}

// newNormalSampler returns a sampler with room for so many digits, and for all
// more that are likely to be needed.
func newNormalSampler(from *entropyState, length int) *normalSampler {
	room := func() fraction { return make(fraction, 0, length+16) }
	return &normalSampler{digits: digits{from.digit, byteDigits}, source: from, x: room(), a: room(), b: room(), r: room()}
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
		s.x = s.x[:0]
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
	s.begin(&s.a)
	return s.a[0]>>(byteDigits-1) == 1 || s.even(&s.a, &s.b)
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
		s.begin(next)
		if !s.less(next, last) || !s.trial(k) {
			return even
		}
		last, next, spare = next, spare, next
	}
}

// trial returns true with probability (2k+x)/(2k+2): of 2k+2 equal cases 2k
// succeed, one does with probability x, and one never.
func (s *normalSampler) trial(k uint64) bool {
	switch s.source.uniform(2*k + 2) {
	case 0:
		return false
	case 1:
		s.begin(&s.r)
		return s.less(&s.r, &s.x)
	}
	return true
}

// wipe clears all digits that were drawn.
func (s *normalSampler) wipe() {
	for _, f := range []fraction{s.x, s.a, s.b, s.r} {
		clear(f[:cap(f)])
	}
}
