package pvi

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// Budget is what a client may spend on all its updates together, counted by privacy-loss
// distributions.
type Budget struct {
	Epsilon, Delta float64
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
	n, err := b.search(one)
	if err != nil {
		return 0, err
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
		if err := all.Sampled(t); err != nil {
			return 0, err
		}
	}
	bracket, err := all.Epsilon(b.Delta)
	return bracket.Upper, err
}
