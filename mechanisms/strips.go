package mechanisms

import (
	"math/big"
	"math/bits"
	"sync"
)

// stripSampler draws from the standard normal law, from words of 64 bits: |X| = (i + y)/16 lies in
// strip i = 0, 1, …, and y is uniform in (0, 1). With
//
//	e^{−X²/2} = e^{−i²/512} · e^{−γ},  γ = y(2i + y)/512,
//
// i is drawn with a probability proportional to the first factor, and both are kept with that of
// the second, 0.975 on average. As in Algorithm N a decision depends on the digits drawn so far
// alone, and nothing is rounded; docs/mechanism-gaussian.md has the proof.
type stripSampler struct {
	digits
	stream *Stream
	table  *stripTable
	x      fraction // the fractional part of the variate
	a, b   fraction // scratch
}

// A strip is 2^−stripBits wide, and so many of them, up to 16, are in the table. For each of
// them there are stripScale·e^{−i²/512} of 2⁶⁴ cases, which is the largest multiple of 10⁴ that
// leaves room for all.
const (
	stripBits  = 4
	strips     = 256
	stripScale = 897519610827870000
)

func newStripSampler(s *Stream) *stripSampler {
	room := func() fraction { return make(fraction, 0, 16) }
	return &stripSampler{digits: digits{s.Uint64, wordDigits}, stream: s, table: cases(), x: room(), a: room(), b: room()}
}

// draw gives the integer part k and the sign of a variate ±(k + x), whose fractional part s.x has
// one digit or more. Its first four bits tell the strip, its other sixty are the first of y.
func (s *stripSampler) draw() (k uint64, negative bool) {
	for {
		i := s.strip()
		word := s.stream.Uint64()
		s.x = append(s.x[:0], i<<(wordDigits-stripBits)|word>>stripBits)
		if s.keep(i) {
			return i >> stripBits, word&1 == 1
		}
	}
}

// stripTable is the alias method (Walker, ACM TOMS 3(3), 1977; Vose 1991) in integers. Of 2⁶⁴ cases
// each of 256 columns has 2⁵⁶: those below its limit are the column's own strip, the others of
// another one. Strip i has as many in all as there are whole cases in stripScale·e^{−i²/512}; the
// last, which has none, stands for the rest.
type stripTable struct {
	columns [strips]struct{ limit, other uint64 }
	whole   [strips]uint64
	rest    uint64
}

const (
	others = strips - 1
	column = 1 << (wordDigits - 8)
)

// strip returns i with a probability proportional to e^{−i²/512}.
func (s *stripSampler) strip() uint64 {
	for {
		word := s.stream.Uint64()
		i := word / column
		c := &s.table.columns[i]
		if other := c.other; word%column >= c.limit { // a conditional move, no branch
			i = other
		}
		if i != others {
			return i
		}
		if i, ok := s.outside(s.stream.Below(s.table.rest)); ok {
			return i
		}
	}
}

// outside decides on a case of the rest, of which there is one for each strip in the table and one
// for all behind it, i = 256 + g with probability 2^{−g−1}; there
//
//	stripScale·e^{−i²/512} < 2⁶⁰·e^{−128−g} < 2^{−g−1}.
//
// What strip i needs beyond its whole cases, below 1 or below 2^{−g−1}, is the probability with which
// it gets its own. All other cases are to be drawn again.
func (s *stripSampler) outside(of uint64) (i uint64, ok bool) {
	if of > strips {
		return 0, false
	}
	scale, whole := uint(0), uint64(0)
	if i = of; of == strips {
		for scale = 1; s.stream.Uint64()>>63 == 1; scale++ {
			i++
		}
	} else {
		whole = s.table.whole[i]
	}
	s.begin(&s.a)
	for {
		// U lies between v and v + 1, and what it is compared with between low and high.
		v, size := s.a.number(s.bits)
		low, high := casesOf(i, size)
		for _, bound := range []*big.Int{low, high} {
			bound.Sub(bound, new(big.Int).Lsh(new(big.Int).SetUint64(whole), size))
			bound.Lsh(bound, scale)
		}
		if v.Cmp(high) >= 0 {
			return 0, false
		}
		if v.Add(v, one).Cmp(low) <= 0 {
			return i, true
		}
		s.extend(&s.a)
	}
}

// number is Σ f[i]·2^{bits(len−1−i)}, of so many bits.
func (f fraction) number(bits int) (n *big.Int, size uint) {
	n = new(big.Int)
	for _, digit := range f {
		n.Or(n.Lsh(n, uint(bits)), new(big.Int).SetUint64(digit))
	}
	return n, uint(bits * len(f))
}

// keep returns true with probability e^{−γ}: a product of m equal ones, with γ/m < 1.
func (s *stripSampler) keep(i uint64) bool {
	m := i/strips + 1
	for range m {
		s.begin(&s.a)
		if s.below(i, m) && !s.even(&s.a, &s.b) {
			return false
		}
	}
	return true
}

// below reports whether U < γ/m, U being the uniform variate of which s.a are digits. With N/2⁶⁴ < y
// < (N + 16)/2⁶⁴ and i < 256, where m = 1,
//
//	g ≤ (2iN + N²/2⁶⁴)/512 ≤ 2⁶⁴γ < g + 19
//
// for the g below, which decides but in 19 cases of 2⁶⁴.
func (s *stripSampler) below(i, m uint64) bool {
	if m == 1 {
		n, u := s.x[0]<<stripBits, s.a[0]
		high, low := bits.Mul64(n, 2*i)
		square, _ := bits.Mul64(n, n)
		low, carry := bits.Add64(low, square, 0)
		g := (high+carry)<<(wordDigits-9) | low>>9
		switch {
		case u < g:
			return true
		case u-g >= 19:
			return false
		}
	}
	return s.belowExactly(i, m)
}

// belowExactly draws digits of x and U until they decide. In units of 2^{−size} X lies between x and
// x + 1, U between u and u + 1, and 2γ = X² − i²/256.
func (s *stripSampler) belowExactly(i, m uint64) bool {
	for {
		for len(s.a) < len(s.x) {
			s.extend(&s.a)
		}
		for len(s.x) < len(s.a) {
			s.extend(&s.x)
		}
		u, size := s.a.number(s.bits)
		x, _ := s.x.number(s.bits)
		x.Add(x, new(big.Int).Lsh(new(big.Int).SetUint64(i>>stripBits), size))
		unit := new(big.Int).SetUint64(2 * m)
		unit.Lsh(unit, size)
		start := new(big.Int).SetUint64(i * i)
		start.Lsh(start, 2*size-2*stripBits)
		gap := func() *big.Int { square := new(big.Int).Mul(x, x); return square.Sub(square, start) }
		least := gap()
		x.Add(x, one)
		most := gap()
		if new(big.Int).Mul(u, unit).Cmp(most) >= 0 {
			return false
		}
		if u.Mul(u.Add(u, one), unit).Cmp(least) <= 0 {
			return true
		}
		s.extend(&s.a)
	}
}

// cases makes the table.
var cases = sync.OnceValue(func() *stripTable {
	t := new(stripTable)
	for i := range t.whole {
		low, high := casesOf(uint64(i), 192)
		if t.whole[i] = low.Rsh(low, 192).Uint64(); high.Rsh(high, 192).Cmp(low) != 0 {
			panic("mechanisms: 192 bits do not tell how many cases a strip has")
		}
		t.rest -= t.whole[i] // of 2⁶⁴
	}
	left := t.whole
	left[others] = t.rest
	var few, many []uint64
	sort := func(i uint64) {
		if left[i] < column {
			few = append(few, i)
		} else {
			many = append(many, i)
		}
	}
	for i := range left {
		t.columns[i].other = uint64(i)
		sort(uint64(i))
	}
	for len(few) > 0 {
		i, from := few[len(few)-1], many[len(many)-1]
		few, many = few[:len(few)-1], many[:len(many)-1]
		t.columns[i].limit, t.columns[i].other = left[i], from
		left[from] -= column - left[i]
		sort(from)
	}
	return t
})

// casesOf encloses 2^size·stripScale·e^{−i²/512}.
func casesOf(i uint64, size uint) (low, high *big.Int) {
	low, high = expPower(i*i, size+wordDigits)
	for _, bound := range []*big.Int{low, high} {
		bound.Mul(bound, new(big.Int).SetUint64(stripScale))
	}
	high.Add(high, new(big.Int).Lsh(one, wordDigits)) // rounded up
	return low.Rsh(low, wordDigits), high.Rsh(high, wordDigits)
}

// expPower encloses 2^size·e^{−n/512}, by squaring and multiplying e^{−1/512}, which is
// Σ_k (−1/512)^k/k!. With terms cut to integers, each is off by less than 2, and what comes after
// the last by less than 1.
func expPower(n uint64, size uint) (low, high *big.Int) {
	sum, term, terms := new(big.Int), new(big.Int).Lsh(one, size), int64(0)
	for ; term.Sign() != 0; terms++ {
		sum.Add(sum, term)
		term.Quo(term, big.NewInt(-512*(terms+1)))
	}
	slack := big.NewInt(2*terms + 1)
	bases := [2]*big.Int{new(big.Int).Sub(sum, slack), new(big.Int).Add(sum, slack)}
	up := new(big.Int).Sub(new(big.Int).Lsh(one, size), one)
	powers := [2]*big.Int{new(big.Int).Lsh(one, size), new(big.Int).Lsh(one, size)}
	for end, power := range powers {
		times := func(by *big.Int) {
			if power.Mul(power, by); end == 1 {
				power.Add(power, up)
			}
			power.Rsh(power, size)
		}
		for bit := bits.Len64(n) - 1; bit >= 0; bit-- {
			times(power)
			if n>>bit&1 == 1 {
				times(bases[end])
			}
		}
	}
	return powers[0], powers[1]
}
