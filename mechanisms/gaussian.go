package mechanisms

import (
	"errors"
	"math/big"
)

// Gaussian returns the Gaussian mechanism: independent noise R(σX), where X is a
// standard normal variate, exactly, and R rounds to the nearest integer. With Φ
// the normal distribution function,
//
//	P(k) = Φ((k + ½)/σ) − Φ((k − ½)/σ),  k = 0, ±1, ±2, …
//
// For an integer z, z + R(σX) = R(z + σX): the result is the continuous Gaussian
// mechanism's, rounded, so whatever (ε, δ) holds for that one at standard
// deviation σ and the L2 sensitivity of z holds here (Dwork & Roth 2014,
// Proposition 2.1; package accounting has the (ε, δ) of Balle & Wang 2018;
// docs/mechanism-gaussian.md). σ is in units of the lattice and is copied. It is
// an error if it is nil or not positive.
func Gaussian(sigma *big.Rat) (Mechanism, error) {
	if sigma == nil || sigma.Sign() <= 0 {
		return Mechanism{}, errors.New("mechanisms: the standard deviation of Gaussian noise must be positive")
	}
	p, q := new(big.Int).Set(sigma.Num()), new(big.Int).Set(sigma.Denom())
	// So many digits that at most one draw in 128 needs another.
	lead := max(0, p.BitLen()-q.BitLen()+2*byteDigits-1) / byteDigits
	return Mechanism{law: func(source *entropyState) sampler {
		return &gaussian{p: p, q: q, lead: lead, normal: newNormalSampler(source, byteDigits, lead)}
	}}, nil
}

// gaussian draws from the normal law with standard deviation p/q in lowest terms, rounded to
// the integers.
type gaussian struct {
	p, q *big.Int
	// lead is how many digits of a normal variate there are at least when it is
	// first rounded.
	lead                int
	normal              *normalSampler
	low, high, unit, by big.Int
	bytes               []byte
}

// wipe implements sampler.
func (g *gaussian) wipe() {
	g.normal.wipe()
	clear(g.bytes[:cap(g.bytes)])
}

// draw sets y to the integer nearest to σX, X standard normal.
//
// X = ±(k + x), and of x in (0, 1) the digits drawn so far are known: with N the
// number that they make and B = 256^digits, x lies between N/B and (N+1)/B. So
// σ|X| + ½ lies between
//
//	(2p(kB + N) + qB) / 2qB   and   (2p(kB + N + 1) + qB) / 2qB,
//
// and where no integer lies strictly between the two, its integer part is known.
// Else another digit is drawn. That σ|X| + ½ is an integer has probability 0, so
// the ends of the interval, the direction in which ties would be rounded, and the
// order of rounding and sign do not matter.
func (g *gaussian) draw(y *big.Int) {
	k, negative := g.normal.draw()
	for len(g.normal.x) < g.lead {
		g.normal.extend(&g.normal.x)
	}
	g.decide(y, k)
	if negative {
		y.Neg(y)
	}
}

// decide sets y to the integer nearest to σ(k + x), with as many digits of x as it takes.
func (g *gaussian) decide(y *big.Int, k uint64) {
	for !g.round(y, k, g.normal.x) {
		g.normal.extend(&g.normal.x)
	}
}

// round sets y to the integer nearest to σ(k + x) and reports whether the digits
// of x decide it.
func (g *gaussian) round(y *big.Int, k uint64, x fraction) bool {
	g.bytes = g.bytes[:0]
	for _, digit := range x {
		for shift := g.normal.bits; shift > 0; {
			shift -= 8
			g.bytes = append(g.bytes, byte(digit>>shift))
		}
	}
	shift := uint(8 * len(g.bytes))
	g.low.SetUint64(k)
	g.low.Lsh(&g.low, shift)
	g.low.Add(&g.low, g.by.SetBytes(g.bytes))
	g.low.Mul(&g.low, g.p)
	g.low.Lsh(&g.low, 1)
	g.unit.Lsh(g.q, shift)
	g.low.Add(&g.low, &g.unit)
	g.high.Add(&g.low, g.by.Lsh(g.p, 1))
	g.high.Sub(&g.high, one)
	g.unit.Lsh(&g.unit, 1)
	// The largest integer part below the upper end, which x does not reach, is
	// that of (high − 1)/unit.
	y.Quo(&g.low, &g.unit)
	return y.Cmp(g.high.Quo(&g.high, &g.unit)) == 0
}
