package mechanisms

// source is what a normalSampler draws from: the bytes of an Entropy, or the words of a
// Stream.
type source interface {
	// digit returns uniform bits, as many as a digit has.
	digit() uint64
	// uniform returns a uniform integer in {0, …, n−1}, exactly.
	uniform(n uint64) uint64
	// coin returns a fair bit.
	coin() bool
}

// byteDigits and wordDigits are the bits of a digit.
const byteDigits, wordDigits = 8, 64

// normalSampler draws from the standard normal law: Algorithm N of Karney
// (Sampling Exactly from the Normal Distribution, ACM TOMS 42(1), 2016), with
// von Neumann's comparisons of uniform variates (1951), whose digits are drawn as
// they are needed. Nothing is rounded.
type normalSampler struct {
	source  source
	bits    int      // of a digit
	x       fraction // the fractional part of the variate
	a, b, r fraction // scratch
}

// newNormalSampler returns a sampler with room for so many digits, and for all
// more that are likely to be needed.
func newNormalSampler(from source, bits, digits int) *normalSampler {
	room := func() fraction { return make(fraction, 0, digits+16) }
	return &normalSampler{source: from, bits: bits, x: room(), a: room(), b: room(), r: room()}
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
		if s.bits == wordDigits {
			s.extend(&s.x)
		}
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
	s.begin(last)
	if (*last)[0]>>(s.bits-1) == 1 {
		return true
	}
	for even := false; ; even = !even {
		s.begin(next)
		if !s.less(next, last) {
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

// fraction is a uniform variate in (0, 1), Σ f[i]·2^{−bits(i+1)}, of which the digits
// drawn so far are known. Those to come are independent and uniform whatever these are,
// since nothing was ever decided by a digit not yet drawn.
type fraction []uint64

// begin makes a new variate, of one digit.
func (s *normalSampler) begin(f *fraction) { *f = append((*f)[:0], s.source.digit()) }

// extend draws the next digit.
func (s *normalSampler) extend(f *fraction) { *f = append(*f, s.source.digit()) }

// less reports whether f < g, two different variates, drawing digits of both
// until they differ: with probability 1 they do.
func (s *normalSampler) less(f, g *fraction) bool {
	if len(*g) > 0 && (*f)[0] != (*g)[0] {
		return (*f)[0] < (*g)[0]
	}
	for i := 0; ; i++ {
		if i == len(*f) {
			s.extend(f)
		}
		if i == len(*g) {
			s.extend(g)
		}
		if (*f)[i] != (*g)[i] {
			return (*f)[i] < (*g)[i]
		}
	}
}
