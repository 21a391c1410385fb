package ledger

import (
	"math"
	"math/big"
	"strconv"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// History is a budget and what was charged to it, in order, and the chain of all events.
type History struct {
	Budget  Budget
	Entries []Entry
	Events  []Event

	last  int64  // number of the last event
	total string // the event that set the total; empty: none did
	used  *account
	of    int // how many entries used is of; 0: it is not known
}

var one = big.NewRat(1, 1)

func (h *History) account() account {
	a := newAccount(h.Budget)
	if h.of > 0 {
		a = *h.used
	}
	for i := range h.Entries[h.of:] {
		a.add(&h.Entries[h.of+i].Charge)
	}
	return a
}

// Fits reports whether the filter accepts charges, one after another, after those of
// the history. Errors: a charge that no release can have.
func (h *History) Fits(parts ...Charge) (bool, error) {
	a := h.account()
	for _, c := range parts {
		if err := c.check(); err != nil {
			return false, err
		}
		a.add(&c)
		if ok, err := a.within(); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Use is what charges up to some point have used.
type Use struct {
	Epsilon, Delta *big.Rat // the sum of all

	// Sum and Gaussian are the parts of the budget that are used by the sum of (ε, δ),
	// the larger of the two, and by the count of Gaussian noise: that is E₀/E, and of
	// the rest as much as the count has used. +Inf where a count has no share. Neither
	// ever falls, and one of them is at most 1. Both are 0 where there is no total.
	Sum, Gaussian float64
}

// Part is the part of the budget that is used: the lesser one, which decides.
func (u Use) Part() float64 { return min(u.Sum, u.Gaussian) }

// Uses returns what was used after each entry.
func (h *History) Uses() ([]Use, error) {
	uses := make([]Use, len(h.Entries))
	a := newAccount(h.Budget)
	for i := range h.Entries {
		a.add(&h.Entries[i].Charge)
		if uses[i] = (Use{Epsilon: a.epsilon, Delta: a.delta}); h.Budget.Epsilon == nil {
			continue
		}
		used, err := a.counted()
		if err != nil {
			return nil, err
		}
		uses[i] = Use{a.epsilon, a.delta, max(part(a.epsilon, a.total.Epsilon), part(a.delta, a.limit())), math.Inf(1)}
		if used != nil {
			before, counted := part(a.before, a.total.Epsilon), part(used, one)
			uses[i].Gaussian = before + (1-before)*counted
		}
	}
	return uses, nil
}

// part is x/total.
func part(x, total *big.Rat) float64 {
	switch {
	case x.Sign() == 0:
		return 0
	case total.Sign() == 0:
		return math.Inf(1)
	}
	f, _ := new(big.Rat).Quo(x, total).Float64()
	return f
}

// Left returns the largest ε, rounded down to three digits, that one more release
// with this noise and δ may have; 0 where there is none. It is at most the total,
// though a release with a smaller δ than the total may state an ε that is larger. A run of
// Sampled noise is taken to be worth runWorth times what Gaussian noise of its (ε, δ) is. Where
// there is no total it is +Inf.
func (h *History) Left(noise Noise, delta *big.Rat) (float64, error) {
	if h.Budget.Epsilon == nil {
		return math.Inf(1), nil
	}
	base := h.account()
	return largest(number.RoundDown(h.Budget.Epsilon), func(epsilon float64) (bool, error) {
		c := Charge{Epsilon: number.Decimal(epsilon), Delta: delta, Noise: noise}
		if noise != Laplace {
			s, err := accounting.Sigma(epsilon, number.RoundDown(delta), 1)
			if err != nil {
				return false, err
			}
			c.Sensitivity, c.Scale = 1, s
		}
		if noise.decomposed() {
			c.Sensitivity = runWorth
		}
		a := base
		a.add(&c)
		return a.within()
	})
}

// runWorth is above what AsGaussian has for runs, relative to the μ of Gaussian noise.
const runWorth = 1.02

// largest bisects for the largest number of three digits that fits, among those from
// most/1e12 to most; 0 if there is none.
func largest(most float64, fits func(float64) (bool, error)) (float64, error) {
	low, high := most/1e12, most*(1+1e-8)
	for high/low > 1+1e-9 {
		middle := math.Sqrt(low) * math.Sqrt(high)
		ok, err := fits(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			low = middle
		} else {
			high = middle
		}
	}
	// A number of three digits may lie just above what bisection has found.
	for _, x := range []float64{min(low*(1+1e-8), most), low} {
		x = threeDigits(x)
		if ok, err := fits(x); ok || err != nil {
			return x, err
		}
	}
	return 0, nil
}

// threeDigits rounds x > 0 down.
func threeDigits(x float64) float64 {
	text := strconv.FormatFloat(x, 'e', 2, 64)
	rounded, _ := strconv.ParseFloat(text, 64)
	if rounded > x {
		unit := math.Pow(10, math.Floor(math.Log10(x))-2)
		rounded, _ = strconv.ParseFloat(strconv.FormatFloat(rounded-unit, 'e', 2, 64), 64)
	}
	return rounded
}

// account is what a sequence of charges has used. Its numbers are exact, but for what short rounds up, and
// never changed in place.
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

func (a *account) add(c *Charge) {
	a.epsilon, a.delta = plus(a.epsilon, c.Epsilon), plus(a.delta, c.Delta)
	pure := times(halfPi, times(c.Epsilon, c.Epsilon))
	switch first := a.square.Sign() == 0; {
	case c.Noise != Laplace:
		if first && a.total.Filter == Auto {
			a.share(c)
		}
		ratio := new(big.Rat).Quo(number.Exactly(c.Sensitivity), number.Exactly(c.Scale))
		square := short(times(ratio, ratio))
		if c.Noise.decomposed() {
			a.mixed = true
			if c.Noise == Other || square.Cmp(pure) > 0 {
				square = pure
			}
		}
		a.square = plus(a.square, square)
	case first:
		a.before = plus(a.before, c.Epsilon)
	default:
		a.mixed = true
		a.square = plus(a.square, pure)
	}
	if c.Noise.decomposed() || a.summed(a.forSum) {
		a.apart = plus(a.apart, c.Delta)
	}
}

// share splits D at the first Gaussian release or run, of which δ is known and no noise yet.
func (a *account) share(c *Charge) {
	half := times(a.total.Delta, big.NewRat(1, 2))
	switch {
	case c.Delta.Cmp(half) <= 0:
		a.forSum, a.forCount = half, half
	case c.Noise.decomposed():
		a.forSum = a.total.Delta
	default:
		a.forCount = a.total.Delta
	}
}

// summed is (S) with a δ.
func (a *account) summed(delta *big.Rat) bool {
	return a.total.Epsilon == nil || a.epsilon.Cmp(a.total.Epsilon) <= 0 && a.delta.Cmp(delta) <= 0
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
	s, err := accounting.Sigma(number.RoundDown(rest), number.RoundDown(a.forCount), 1)
	if err != nil {
		return nil, err
	}
	return times(a.square, times(number.Exactly(s), number.Exactly(s))), nil
}

// short is x > 0 rounded up to 128 binary digits. Squares of float64s' quotients have hundreds,
// and unlike denominators: exact sums of thousands would be as many times as long.
func short(x *big.Rat) *big.Rat {
	up, _ := new(big.Float).SetPrec(128).SetMode(big.ToPositiveInf).SetRat(x).Rat(nil)
	return up
}

func plus(x, y *big.Rat) *big.Rat  { return new(big.Rat).Add(x, y) }
func times(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
