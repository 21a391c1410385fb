package ledger

import (
	"math"
	"math/big"
	"strconv"
)

// History is a budget and what was charged to it, in order.
type History struct {
	Budget  Budget
	Entries []Entry
	sigma   Sigma
}

func (h *History) account() account {
	a := newAccount(h.Budget)
	for i := range h.Entries {
		a.add(&h.Entries[i].Charge)
	}
	return a
}

// Fits reports whether the filter accepts a charge after those of the history.
// Errors: a charge that no release can have.
func (h *History) Fits(c Charge) (bool, error) {
	if err := c.check(); err != nil {
		return false, err
	}
	a := h.account()
	a.add(&c)
	return a.within(h.sigma)
}

// Use is what charges up to some point have used.
type Use struct {
	Epsilon, Delta *big.Rat // the sum of all

	// Sum and Gaussian are the parts of the two counts, the sum of (ε, δ) and that of
	// Gaussian noise, that are used; +Inf where a count has no share. One of them is at
	// most 1.
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
		used, err := a.counted(h.sigma)
		if err != nil {
			return nil, err
		}
		uses[i] = Use{a.epsilon, a.delta, max(part(a.epsilon, a.total.Epsilon), part(a.delta, a.limit())), math.Inf(1)}
		if used != nil {
			uses[i].Gaussian, _ = used.Float64()
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
// with δ may have: with Laplace noise for δ = 0, else with Gaussian noise; 0 where
// there is none.
func (h *History) Left(delta *big.Rat) (float64, error) {
	base := h.account()
	fits := func(epsilon float64) (bool, error) {
		c := Charge{Epsilon: decimal(epsilon), Delta: delta, Noise: Laplace}
		if delta.Sign() > 0 {
			s, err := h.sigma(epsilon, roundDown(delta), 1)
			if err != nil {
				return false, err
			}
			c.Noise, c.Sensitivity, c.Scale = Gaussian, 1, s
		}
		a := base
		a.add(&c)
		return a.within(h.sigma)
	}
	return largest(fits, roundDown(h.Budget.Epsilon))
}

// largest bisects for the largest number of three digits that fits, from first/1e12
// to first·1e3: a Gaussian release may state an ε above the total, with a smaller δ.
func largest(fits func(float64) (bool, error), first float64) (float64, error) {
	low, high := first/1e12, first*1e3
	if ok, err := fits(low); !ok || err != nil {
		return 0, err
	}
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
	for _, x := range []float64{low * (1 + 1e-8), low} {
		x = threeDigits(x)
		if ok, err := fits(x); ok || err != nil {
			return x, err
		}
	}
	return 0, nil
}

// decimal is the value of the shortest decimal that reads back as x, as a user would
// type it.
func decimal(x float64) *big.Rat {
	q, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	return q
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
