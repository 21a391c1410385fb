package mechanisms

import (
	"errors"
	"math/big"
)

// gaussian is the normal law with standard deviation p/q in lowest terms, rounded
// to the integers.
type gaussian struct {
	p, q big.Int
	// lead is how many digits of a normal variate there are at least when it is
	// first rounded: so many that at most one draw in 128 needs another.
	lead int
}

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
		return nil, errors.New("mechanisms: the standard deviation of Gaussian noise must be positive")
	}
	g := new(gaussian)
	g.p.Set(sigma.Num())
	g.q.Set(sigma.Denom())
	g.lead = max(0, g.p.BitLen()-g.q.BitLen()+digitBits+digitBits-1) / digitBits
	return g, nil
}

// AddNoise implements Mechanism.
func (g *gaussian) AddNoise(z []*big.Int, e *Entropy) {
	source := e.mustState()
	source.mu.Lock()
	defer source.mu.Unlock()
	defer source.drop()
	sampler := gaussianSampler{gaussian: g, normal: newNormalSampler(source, g.lead)}
	defer sampler.normal.wipe()
	var noise big.Int
	for _, v := range z {
		sampler.draw(&noise)
		v.Add(v, &noise)
	}
}

// gaussianSampler holds the scratch of draws from one law.
type gaussianSampler struct {
	*gaussian
	normal              normalSampler
	low, high, unit, by big.Int
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
func (g *gaussianSampler) draw(y *big.Int) {
	k, negative := g.normal.draw()
	x := &g.normal.x
	for len(x.digits) < g.lead {
		x.extend(g.normal.source)
	}
	for !g.round(y, k, x.digits) {
		x.extend(g.normal.source)
	}
	if negative {
		y.Neg(y)
	}
}

// round sets y to the integer nearest to σ(k + x) and reports whether the digits
// of x decide it.
func (g *gaussianSampler) round(y *big.Int, k uint64, digits []byte) bool {
	shift := uint(digitBits * len(digits))
	g.low.SetUint64(k)
	g.low.Lsh(&g.low, shift)
	g.low.Add(&g.low, g.by.SetBytes(digits))
	g.low.Mul(&g.low, &g.p)
	g.low.Lsh(&g.low, 1)
	g.unit.Lsh(&g.q, shift)
	g.low.Add(&g.low, &g.unit)
	g.high.Add(&g.low, g.by.Lsh(&g.p, 1))
	g.high.Sub(&g.high, one)
	g.unit.Lsh(&g.unit, 1)
	// The largest integer part below the upper end, which x does not reach, is
	// that of (high − 1)/unit.
	y.Quo(&g.low, &g.unit)
	return y.Cmp(g.high.Quo(&g.high, &g.unit)) == 0
}
