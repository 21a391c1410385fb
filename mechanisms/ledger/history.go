package ledger

import (
	"math"
	"math/big"
	"strconv"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// History is a budget and what was charged to it, in order.
type History struct {
	Budget  Budget
	Entries []Entry
}

var one = big.NewRat(1, 1)

func (h *History) account() account {
	a := newAccount(h.Budget)
	for i := range h.Entries {
		a.add(&h.Entries[i].Charge)
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
	// ever falls, and one of them is at most 1.
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
// Sampled noise is taken to be worth runWorth times what Gaussian noise of its (ε, δ) is.
func (h *History) Left(noise Noise, delta *big.Rat) (float64, error) {
	base := h.account()
	return largest(roundDown(h.Budget.Epsilon), func(epsilon float64) (bool, error) {
		c := Charge{Epsilon: number.Decimal(epsilon), Delta: delta, Noise: noise}
		if noise != Laplace {
			s, err := accounting.Sigma(epsilon, roundDown(delta), 1)
			if err != nil {
				return false, err
			}
			c.Sensitivity, c.Scale = 1, s
		}
		if noise == Sampled {
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
