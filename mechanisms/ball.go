package mechanisms

import (
	"errors"
	"math/big"
)

// Ball returns the K-norm mechanism (Hardt & Talwar, On the Geometry of Differential
// Privacy, STOC 2010) of a ball with axes of these lengths, rounded: to k = len(scales)
// integers noise R(s_i √V N_i), V of the χ² law with k+1 degrees of freedom, N_i standard
// normal, all independent and exact, and R rounds to the nearest integer.
//
// Before it is rounded, the noise x_i = s_i √V N_i has a density proportional to
// exp(−‖x/s‖₂). For s = 1 and r = ‖x‖₂ it is, up to constants, the mixture
//
//	∫ v^{−k/2} e^{−r²/2v} · v^{(k+1)/2−1} e^{−v/2} dv = ∫ v^{−1/2} e^{−(r²/v + v)/2} dv = √(2π) e^{−r},
//
// the last being 2 √r K_{1/2}(r), of the Bessel function K_{1/2}(r) = √(π/2r) e^{−r}. So
// ‖x/s‖₂ has the Gamma law of shape k. If two integer vectors have ‖(z − z′)/s‖₂ ≤ ε, the
// densities of z + x and z′ + x differ by a factor of e^ε at most, by the triangle
// inequality; and R(z + x) = z + R(x) is a function of z + x: it is as private.
//
// Scales are in units of the lattice and are copied. It is an error if there is none, or if
// one is nil or not positive. The mechanism takes vectors of k integers; AddNoise panics if
// there are more or fewer.
func Ball(scales []*big.Rat) (Mechanism, error) {
	if len(scales) == 0 {
		return Mechanism{}, errors.New("mechanisms: a ball needs a scale")
	}
	copied, widest := make([]big.Rat, len(scales)), 0
	for i, s := range scales {
		if s == nil || s.Sign() <= 0 {
			return Mechanism{}, errors.New("mechanisms: the scales of a ball must be positive")
		}
		copied[i].Set(s)
		widest = max(widest, s.Num().BitLen()-s.Denom().BitLen())
	}
	// An entry is known to about s√k/256^digits: so many digits that all entries are
	// settled at once but in one release of about 128.
	k := big.NewInt(int64(len(scales))).BitLen()
	lead := max(1, (widest+2*k+2*byteDigits-1)/byteDigits)
	return Mechanism{entries: len(scales), law: func(source *entropyState) sampler {
		return &ball{scales: copied, lead: lead, normal: newNormalSampler(source, lead)}
	}}, nil
}

// ball draws a vector at the first call of draw, and hands out its entries one by one.
type ball struct {
	scales  []big.Rat
	lead    int // digits that a variate has at least when it is first rounded
	normal  *normalSampler
	variate []magnitude // N_1, …, N_k, then those whose squares are V
	rounded []big.Int   // what is left to hand out
	scratch [4]big.Int
}

// magnitude is a normal variate ±X, of which digits are known: X lies between
// low/256^digits and (low+1)/256^digits.
type magnitude struct {
	low      big.Int
	digits   int
	negative bool
}

func (b *ball) wipe() {
	b.normal.wipe()
	for i := range b.variate {
		erase(&b.variate[i].low)
	}
	for i := range b.scratch {
		erase(&b.scratch[i])
	}
}

func erase(x *big.Int) {
	words := x.Bits()
	clear(words[:cap(words)])
	x.SetInt64(0)
}

func (b *ball) draw(y *big.Int) {
	if b.variate == nil {
		b.begin()
		b.settle()
	}
	y.Set(&b.rounded[0])
	erase(&b.rounded[0])
	b.rounded = b.rounded[1:]
}

// begin draws the variates, and as many digits of each as the one has that needed most.
func (b *ball) begin() {
	b.variate = make([]magnitude, 2*len(b.scales)+1)
	digits := b.lead
	for i := range b.variate {
		b.normal.magnitude(&b.variate[i])
		digits = max(digits, b.variate[i].digits)
	}
	b.refine(digits)
}

// magnitude draws a variate with the digits that it takes.
func (s *normalSampler) magnitude(x *magnitude) {
	k, negative := s.draw()
	x.negative = negative
	x.low.SetUint64(k)
	for _, digit := range s.x {
		x.append(digit)
	}
}

// append makes another digit known.
func (x *magnitude) append(digit uint64) {
	var d big.Int
	x.low.Or(x.low.Lsh(&x.low, byteDigits), d.SetUint64(digit))
	x.digits++
}

// refine draws digits of all variates until each has so many.
func (b *ball) refine(digits int) {
	for i := range b.variate {
		for x := &b.variate[i]; x.digits < digits; {
			x.append(b.normal.source.digit())
		}
	}
}

// settle rounds all entries, with as many digits as it takes. What fewer digits decide more
// do not change, so that the result is that of the variates themselves.
func (b *ball) settle() {
	k := len(b.scales)
	b.rounded = make([]big.Int, k)
	settled := make([]bool, k)
	for left := k; left > 0; {
		least, most := b.squares()
		for i := range k {
			if !settled[i] && b.round(&b.rounded[i], i, least, most) {
				settled[i] = true
				left--
			}
		}
		if left > 0 {
			b.refine(b.variate[0].digits + 1)
		}
	}
}

// squares gives bounds of V, in units of 256^(−2·digits).
func (b *ball) squares() (least, most *big.Int) {
	least, most = &b.scratch[0], &b.scratch[1]
	least.SetInt64(0)
	most.SetInt64(0)
	square := &b.scratch[2]
	for i := len(b.scales); i < len(b.variate); i++ {
		low := &b.variate[i].low
		least.Add(least, square.Mul(low, low))
		// (low + 1)² = low² + 2·low + 1
		most.Add(most, square.Add(square, one))
		most.Add(most, square.Lsh(low, 1))
	}
	return least, most
}

// round sets y to R(s√V N), entry i, and reports whether the digits known decide it. The
// larger its magnitude h the larger is ⌊2h⌋, the root of ⌊4h²⌋, and
//
//	⌊h + ½⌋ = ⌊(⌊2h⌋ + 1)/2⌋,   4h² = 4s²·V·N².
//
// The magnitude lies between those of the lower ends of V and N and of the upper ones. That
// h + ½ is an integer has probability 0, so neither the ends of the interval nor the
// direction in which ties would be rounded matter.
func (b *ball) round(y *big.Int, i int, least, most *big.Int) bool {
	x := &b.variate[i]
	n, upper := &b.scratch[2], &b.scratch[3]
	b.nearest(y, i, least, &x.low)
	b.nearest(upper, i, most, n.Add(&x.low, one))
	if y.Cmp(upper) != 0 {
		return false
	}
	if x.negative {
		y.Neg(y)
	}
	return true
}

// nearest sets y to ⌊s√v·n + ½⌋, with s = p/q, v in units of 256^(−2·digits) and n of
// 256^(−digits).
func (b *ball) nearest(y *big.Int, i int, v, n *big.Int) {
	var unit big.Int
	p, q := b.scales[i].Num(), b.scales[i].Denom()
	y.Mul(n, p)
	y.Mul(y, y)
	y.Mul(y, v)
	y.Lsh(y, 2)
	unit.Lsh(unit.Mul(q, q), uint(4*byteDigits*b.variate[i].digits))
	y.Sqrt(y.Quo(y, &unit))
	y.Rsh(y.Add(y, one), 1)
}
