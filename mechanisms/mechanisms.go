// Package mechanisms adds exact random noise to vectors of integers.
//
// It knows no column and no regression. A caller that holds statistics on a
// lattice of spacing g hands over the integers z/g and a scale in units of g;
// whether that scale pays for a privacy guarantee is the caller's calculation
// (package ssp).
//
// Every step from the random bytes to the noisy integer is integer or rational
// arithmetic: there is no floating-point number in this package, so the noise
// has exactly the law that its docstring states, on every integer, whatever the
// input. The attacks of Mironov (On Significance of the Least Significant Bits
// for Differential Privacy, CCS 2012), which read the input off the holes in
// the support of a floating-point Laplace variate, have nothing to hold on to.
// docs/mechanism-laplace.md has the proofs.
package mechanisms

import (
	"errors"
	"fmt"
	"math/big"
)

// A Mechanism adds noise of one law to the entries of an integer vector, independent from
// one to the next but for Ball.
type Mechanism struct {
	law     func(*entropyState) sampler
	entries int // of a vector; 0: any number
}

// sampler draws the noise of a vector, entry by entry.
type sampler interface {
	draw(*big.Int)
	wipe() // clears what was drawn
}

// AddNoise adds noise to z in place. It panics if an entry of z or e is nil, if e was
// not made by OS or Simulated, or if the mechanism is one of vectors of another length. It
// holds e for the whole call, so one source may serve several goroutines.
func (m Mechanism) AddNoise(z []*big.Int, e *Entropy) {
	source := e.mustState()
	if m.entries > 0 && len(z) != m.entries {
		panic(fmt.Sprintf("mechanisms: noise of %d entries on a vector of %d", m.entries, len(z)))
	}
	source.mu.Lock()
	defer source.mu.Unlock()
	defer source.drop()
	s := m.law(source)
	defer s.wipe()
	var noise big.Int
	for _, v := range z {
		s.draw(&noise)
		v.Add(v, &noise)
	}
}

// Laplace returns the discrete Laplace mechanism: independent noise with
//
//	P(k) = (e^{1/scale} − 1)/(e^{1/scale} + 1) · exp(−|k|/scale),  k = 0, ±1, ±2, …
//
// exactly. If two integer vectors differ by at most Δ in L1 and
// scale ≥ Δ/ε, the outputs are ε-indistinguishable (Ghosh, Roughgarden &
// Sundararajan 2012; docs/mechanism-laplace.md). The scale is in units of the
// lattice and is copied. It is an error if it is nil or not positive.
func Laplace(scale *big.Rat) (Mechanism, error) {
	if scale == nil || scale.Sign() <= 0 {
		return Mechanism{}, errors.New("mechanisms: the scale of Laplace noise must be positive")
	}
	t, s := new(big.Int).Set(scale.Num()), new(big.Int).Set(scale.Denom())
	return Mechanism{law: func(source *entropyState) sampler { return &laplace{t: t, s: s, source: source} }}, nil
}

// laplace draws from the discrete Laplace law with scale t/s in lowest terms.
type laplace struct {
	t, s    *big.Int
	source  *entropyState
	u, w, n big.Int
	uniform uniformScratch
}

// wipe has nothing to clear: what is drawn is not kept.
func (l *laplace) wipe() {}

// draw sets x to a discrete Laplace variate: Algorithm 2 of Canonne, Kamath &
// Steinke (The Discrete Gaussian for Differential Privacy, NeurIPS 2020).
//
// The pair (U, V), U in {0, …, t−1} with probability ∝ e^{−U/t} and V ≥ 0 with
// probability ∝ e^{−V}, is quotient and remainder by t of one geometric variate
//
//	X = U + t·V,  P(X = x) ∝ e^{−x/t},
//
// so Y = ⌊X/s⌋ has P(Y = y) ∝ e^{−y·s/t}. A fair sign, with −0 refused, makes it
// two-sided.
func (l *laplace) draw(x *big.Int) {
	for {
		l.source.below(&l.u, l.t, &l.uniform)
		if !l.bernoulliExp(&l.u) {
			continue
		}
		v := int64(0)
		for l.bernoulliExp(l.t) {
			v++
		}
		x.Mul(l.t, l.w.SetInt64(v))
		x.Add(x, &l.u)
		x.Quo(x, l.s)
		negative := l.source.coin()
		if negative && x.Sign() == 0 {
			continue
		}
		if negative {
			x.Neg(x)
		}
		return
	}
}

// bernoulliExp returns true with probability exp(−u/t), 0 ≤ u ≤ t: Algorithm 1
// of Canonne, Kamath & Steinke (2020), after von Neumann (1951).
//
// With γ = u/t, let K be the first k ≥ 1 at which a Bernoulli(γ/k) trial fails.
// P(K > k) = γᵏ/k!, so P(K odd) = Σ_k (−γ)ᵏ/k! = e^{−γ}. A trial is a uniform
// integer below k·t compared with u: no number is ever rounded.
func (l *laplace) bernoulliExp(u *big.Int) bool {
	for k := int64(1); ; k++ {
		l.n.Mul(l.t, l.w.SetInt64(k))
		l.source.below(&l.w, &l.n, &l.uniform)
		if l.w.Cmp(u) >= 0 {
			return k%2 == 1
		}
	}
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
		return Mechanism{}, errors.New("mechanisms: the standard deviation of Gaussian noise must be positive")
	}
	p, q := new(big.Int).Set(sigma.Num()), new(big.Int).Set(sigma.Denom())
	// So many digits that at most one draw in 128 needs another.
	lead := max(0, p.BitLen()-q.BitLen()+2*byteDigits-1) / byteDigits
	return Mechanism{law: func(source *entropyState) sampler {
		return &gaussian{p: p, q: q, lead: lead, normal: newNormalSampler(source, lead)}
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
	g.decide(y, k, &g.normal.x, g.normal.digits)
	if negative {
		y.Neg(y)
	}
}

// decide sets y to the integer nearest to σ(k + x), with as many digits of x as it takes.
func (g *gaussian) decide(y *big.Int, k uint64, x *fraction, of digits) {
	for !g.round(y, k, *x, of.bits) {
		of.extend(x)
	}
}

// round sets y to the integer nearest to σ(k + x) and reports whether the digits
// of x decide it.
func (g *gaussian) round(y *big.Int, k uint64, x fraction, bits int) bool {
	g.bytes = g.bytes[:0]
	for _, digit := range x {
		for shift := bits; shift > 0; {
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
