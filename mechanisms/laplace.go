package mechanisms

import (
	"errors"
	"math/big"
)

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

// wipe implements sampler. What is drawn is not kept.
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
