package pvi

import (
	"fmt"
	"math"
	"sync"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// Accounting is how a client's updates are counted against its budget.
type Accounting int

const (
	// Tight is by privacy-loss distributions: as many updates as certainly fit.
	Tight Accounting = iota
	// Paper is the moments accountant with 32 moments and Poisson's bound, whatever the
	// batches are, tested before an update: the last one begins below the budget and
	// ends above it. The guarantee is not ε.
	Paper
)

func (a Accounting) String() string { return [...]string{"pld", "paper"}[a] }

// Budget is what a client may spend on all its updates together.
type Budget struct {
	Epsilon, Delta float64
	Accounting     Accounting
	Counts         *Counts // nil: nothing is remembered
}

// Counts remembers how many updates budgets had room for: clients are often alike. The
// zero value is empty. It serves several goroutines.
type Counts struct{ known sync.Map }

// count is what tells a Budget's updates apart.
type count struct {
	epsilon, delta float64
	accounting     Accounting
	one            string
}

// Updates returns how many updates a client may do, each of which makes all of the
// releases in one. Errors: budget or releases out of range, no update fits.
func (b Budget) Updates(one []accounting.Training) (int, error) {
	if !(b.Epsilon > 0) || math.IsInf(b.Epsilon, 0) {
		return 0, fmt.Errorf("epsilon must be positive and finite, not %v", b.Epsilon)
	}
	if len(one) == 0 {
		return 0, fmt.Errorf("a budget needs an update that spends")
	}
	if b.Counts == nil {
		return b.count(one)
	}
	key := count{b.Epsilon, b.Delta, b.Accounting, fmt.Sprint(one)}
	if n, ok := b.Counts.known.Load(key); ok {
		return n.(int), nil
	}
	n, err := b.count(one)
	if err == nil {
		b.Counts.known.Store(key, n)
	}
	return n, err
}

// count is Updates, computed.
func (b Budget) count(one []accounting.Training) (int, error) {
	n, err := b.search(one)
	if err != nil {
		return 0, err
	}
	// The moments accountant tests an update when nothing is spent yet as well.
	if b.Accounting == Paper && -math.Log(b.Delta)/accounting.DefaultMoments <= b.Epsilon {
		n++
	}
	if n == 0 {
		first, err := b.Spent(one, 1)
		if err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("epsilon = %v at delta = %v is too small for one update, which spends %.3g: more noise, fewer steps or smaller batches are needed", b.Epsilon, b.Delta, first)
	}
	return n, nil
}

// search is the largest n for which n updates fit, or 0: by doubling, then halving.
func (b Budget) search(one []accounting.Training) (int, error) {
	fits := func(n int) (bool, error) {
		spent, err := b.Spent(one, n)
		return spent <= b.Epsilon, err
	}
	low, high := 0, 1
	for {
		ok, err := fits(high)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if low, high = high, 2*high; high > accounting.MaxCount/1000 {
			return low, nil
		}
	}
	for high-low > 1 {
		middle := (low + high) / 2
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
	return low, nil
}

// Spent returns the ε that so many updates spend, 0 for none. Errors: releases or δ out of
// range.
func (b Budget) Spent(one []accounting.Training, updates int) (float64, error) {
	if updates == 0 {
		return 0, nil
	}
	var all accounting.Composition
	for _, t := range one {
		t.Steps *= updates
		if b.Accounting == Paper {
			t.Scheme = accounting.PoissonAddRemove
		}
		if err := all.Sampled(t); err != nil {
			return 0, err
		}
	}
	if b.Accounting == Paper {
		return all.Moments(b.Delta, accounting.DefaultMoments)
	}
	bracket, err := all.Epsilon(b.Delta)
	return bracket.Upper, err
}
