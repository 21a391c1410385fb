package accounting

import (
	"fmt"
	"math"
)

// Accountant is a way to bound the privacy of a Training.
type Accountant int

const (
	// PLD is the upper end of Composition.Epsilon, the tightest bound here.
	PLD Accountant = iota
	// Optimistic is the lower end: no bound holds that is smaller.
	Optimistic
	// RDP is RDPEpsilon at the best of many orders.
	RDP
	// Moments is Composition.Moments with DefaultMoments.
	Moments
	// Advanced composition of amplified steps.
	Advanced
	// Basic composition of amplified steps.
	Basic
)

var accountantNames = []string{"pld", "pld, optimistic", "rdp", "moments", "advanced", "basic"}

func (a Accountant) String() string {
	if a < 0 || int(a) >= len(accountantNames) {
		return fmt.Sprintf("Accountant(%d)", int(a))
	}
	return accountantNames[a]
}

// Accountants lists all.
func Accountants() []Accountant { return []Accountant{PLD, Optimistic, RDP, Moments, Advanced, Basic} }

// Epsilon returns the ε that an accountant finds for δ. Errors: those of Check, delta
// not in [MinSampledDelta, 1), no finite ε.
func (t Training) Epsilon(a Accountant, delta float64) (float64, error) {
	if err := inSampledRange(delta); err != nil {
		return 0, err
	}
	epsilon, err := t.curve(a)
	if err != nil {
		return 0, err
	}
	return finite(epsilon(delta))
}

// Delta returns the δ that an accountant finds for ε, 1 where it finds no less. Errors:
// those of Check, epsilon negative or not finite.
func (t Training) Delta(a Accountant, epsilon float64) (float64, error) {
	if err := nonNegative("epsilon", epsilon); err != nil {
		return 0, err
	}
	if a == PLD || a == Optimistic {
		c, err := t.composition()
		if err != nil {
			return 0, err
		}
		d, err := c.Delta(epsilon)
		if a == Optimistic {
			return d.Lower, err
		}
		return d.Upper, err
	}
	curve, err := t.curve(a)
	if err != nil {
		return 0, err
	}
	// ε falls as δ grows.
	low, high := math.Log(MinSampledDelta), 0.
	for high-low > 1e-12*(1-high) {
		middle := (low + high) / 2
		if e, err := curve(math.Exp(middle)); err == nil && e <= epsilon {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Exp(high), nil
}

func (t Training) composition() (*Composition, error) {
	c := new(Composition)
	return c, c.Sampled(t)
}

// curve returns ε as a function of δ.
func (t Training) curve(a Accountant) (func(delta float64) (float64, error), error) {
	c, err := t.composition()
	if err != nil {
		return nil, err
	}
	switch a {
	case PLD:
		return func(delta float64) (float64, error) { e, err := c.Epsilon(delta); return e.Upper, err }, nil
	case Optimistic:
		return func(delta float64) (float64, error) { e, err := c.Epsilon(delta); return e.Lower, err }, nil
	case RDP:
		r := &renyi{Composition: c}
		return func(delta float64) (float64, error) { return r.epsilon(delta), nil }, nil
	case Moments:
		all := c.moments(DefaultMoments)
		return func(delta float64) (float64, error) { return momentsEpsilon(all, delta), nil }, nil
	case Advanced:
		return t.advanced, nil
	case Basic:
		return t.basic, nil
	}
	return nil, fmt.Errorf("unknown accountant %d", int(a))
}

func finite(epsilon float64, err error) (float64, error) {
	if err == nil && math.IsInf(epsilon, 0) {
		err = fmt.Errorf("no finite epsilon was found")
	}
	return epsilon, err
}

func inSampledRange(delta float64) error {
	if !(delta >= MinSampledDelta && delta < 1) {
		return fmt.Errorf("delta must be at least %v and below 1, not %v", MinSampledDelta, delta)
	}
	return nil
}
