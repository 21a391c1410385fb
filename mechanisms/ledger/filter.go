package ledger

import (
	"math"
	"math/big"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// account is what a sequence of charges has used. Its numbers are exact, and never
// changed in place.
//
// Write τ = Σ (Δ_t/σ_t)² for the Gaussian releases and δ(ε, τ) for the smallest δ at
// which one release of Gaussian noise with (Δ/σ)² = τ has (ε, δ). With E, D the
// totals, a sequence is within the budget if
//
//	Σ ε_t ≤ E and Σ δ_t ≤ D_S,                  the sum of all, or      (S)
//	δ(E − E₀, τ) ≤ D_G,                         the Gaussian count,     (G)
//
// where E₀ = Σ ε_t over the Laplace releases before the first Gaussian one, and a
// later one counts in τ as (π/2)ε², which is no less than it is worth. The union
// of the two is (E, D_S + D_G)-differentially private however the charges were
// chosen, so that D_S + D_G = D; it would not be with D for both. The first Gaussian
// charge fixes the shares: halves; but all of D is for (G) where that charge is
// above half of it. Where only Gaussian releases follow the first one, (S) with D_G
// implies (G), and is the easier to decide.
//
// A run of Sampled noise is, but for an event of probability δ_t, a pure release of ε_t
// and worth a Gaussian one of (Δ_t/σ_t)². It counts as a Gaussian one, and its δ_t is of
// D_S even where (G) decides; a first one that is above half of D leaves all of it to (S).
// Proofs: docs/ledger.md.
type account struct {
	total          Budget
	epsilon, delta *big.Rat // the sum of all charges
	before         *big.Rat // E₀
	square         *big.Rat // τ
	forSum         *big.Rat // D_S
	forCount       *big.Rat // D_G
	apart          *big.Rat // of D_S: δ of runs, and of other releases while (S) holds
	mixed          bool     // after a Gaussian release came one of other noise, or a run was first
}

// halfPi is a bound above π/2.
var halfPi = big.NewRat(15708, 10000)

func newAccount(total Budget) account {
	zero := new(big.Rat)
	a := account{total: total, epsilon: zero, delta: zero, before: zero, square: zero, forSum: zero, forCount: zero, apart: zero}
	if total.Filter == Sum {
		a.forSum = total.Delta
	}
	return a
}

// add charges c.
func (a *account) add(c *Charge) {
	a.epsilon, a.delta = plus(a.epsilon, c.Epsilon), plus(a.delta, c.Delta)
	pure := times(halfPi, times(c.Epsilon, c.Epsilon))
	switch first := a.square.Sign() == 0; {
	case c.Noise != Laplace:
		if first && a.total.Filter == Auto {
			a.share(c)
		}
		ratio := new(big.Rat).Quo(exactly(c.Sensitivity), exactly(c.Scale))
		square := times(ratio, ratio)
		if c.Noise == Sampled {
			a.mixed = true
			square = least(square, pure)
		}
		a.square = plus(a.square, square)
	case first:
		a.before = plus(a.before, c.Epsilon)
	default:
		a.mixed = true
		a.square = plus(a.square, pure)
	}
	if c.Noise == Sampled || a.summed(a.forSum) {
		a.apart = plus(a.apart, c.Delta)
	}
}

// share splits D at the first Gaussian release or run, of which δ is known and no noise yet.
func (a *account) share(c *Charge) {
	half := times(a.total.Delta, big.NewRat(1, 2))
	switch {
	case c.Delta.Cmp(half) <= 0:
		a.forSum, a.forCount = half, half
	case c.Noise == Sampled:
		a.forSum = a.total.Delta
	default:
		a.forCount = a.total.Delta
	}
}

// summed is (S) with a δ.
func (a *account) summed(delta *big.Rat) bool {
	return a.epsilon.Cmp(a.total.Epsilon) <= 0 && a.delta.Cmp(delta) <= 0
}

// within reports whether what is charged is within the budget.
func (a *account) within() (bool, error) {
	if a.summed(a.limit()) {
		return true, nil
	}
	used, err := a.counted()
	return used != nil && used.Cmp(one) <= 0, err
}

// limit is the δ that (S) allows.
func (a *account) limit() *big.Rat {
	if !a.mixed && a.forCount.Sign() > 0 {
		return a.forCount // no less than the other share
	}
	return a.forSum
}

// counted is the part of (G) that is used, τσ² with σ the noise of a single release
// that would use all of it; nil where (G) has no share, or D_S none for runs.
func (a *account) counted() (*big.Rat, error) {
	rest := new(big.Rat).Sub(a.total.Epsilon, a.before)
	if rest.Sign() < 0 || a.forCount.Sign() == 0 || a.apart.Cmp(a.forSum) > 0 {
		return nil, nil
	}
	s, err := accounting.Sigma(roundDown(rest), roundDown(a.forCount), 1)
	if err != nil {
		return nil, err
	}
	return times(a.square, times(exactly(s), exactly(s))), nil
}

func plus(x, y *big.Rat) *big.Rat  { return new(big.Rat).Add(x, y) }
func times(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }

func least(x, y *big.Rat) *big.Rat {
	if x.Cmp(y) <= 0 {
		return x
	}
	return y
}

// exactly is the value of a finite float64.
func exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// roundDown returns the largest float64 that is not above q.
func roundDown(q *big.Rat) float64 {
	f, _ := q.Float64() // the nearest
	if exactly(f).Cmp(q) > 0 {
		return math.Nextafter(f, math.Inf(-1))
	}
	return f
}
