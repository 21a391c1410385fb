package accounting

import (
	"errors"
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
	// ZCDP is ZCDPEpsilon of Composition.ZCDP; an error with sampling.
	ZCDP
	// Moments is Composition.Moments with DefaultMoments.
	Moments
	// Advanced composition of amplified steps.
	Advanced
	// Basic composition of amplified steps.
	Basic
)

var accountantNames = []string{"pld", "pld, optimistic", "rdp", "zcdp", "moments", "advanced", "basic"}

func (a Accountant) String() string {
	if a < 0 || int(a) >= len(accountantNames) {
		return fmt.Sprintf("Accountant(%d)", int(a))
	}
	return accountantNames[a]
}

// Accountants lists all.
func Accountants() []Accountant {
	return []Accountant{PLD, Optimistic, RDP, ZCDP, Moments, Advanced, Basic}
}

// run is releases of one kind, which every accountant can bound.
type run interface {
	composition() (*Composition, error)
	basic(delta float64) (float64, error)
	advanced(delta float64) (float64, error)
}

// Epsilon returns the ε that an accountant finds for δ. Errors: those of Check, delta
// not in [MinSampledDelta, 1), no finite ε.
func (t Training) Epsilon(a Accountant, delta float64) (float64, error) {
	return epsilon(t, a, delta)
}

// Delta returns the δ that an accountant finds for ε, 1 where it finds no less. Errors:
// those of Check, epsilon negative or not finite.
func (t Training) Delta(a Accountant, epsilon float64) (float64, error) {
	return delta(t, a, epsilon)
}

func (t Training) composition() (*Composition, error) {
	c := new(Composition)
	return c, c.Sampled(t)
}

func epsilon(r run, a Accountant, delta float64) (float64, error) {
	if err := inSampledRange(delta); err != nil {
		return 0, err
	}
	curve, err := curveOf(r, a)
	if err != nil {
		return 0, err
	}
	epsilon, err := curve(delta)
	if err == nil && math.IsInf(epsilon, 0) {
		err = fmt.Errorf("%v: no finite epsilon was found", a)
	}
	return epsilon, err
}

func delta(r run, a Accountant, epsilon float64) (float64, error) {
	if err := nonNegative("epsilon", epsilon); err != nil {
		return 0, err
	}
	if a == PLD || a == Optimistic {
		c, err := r.composition()
		if err != nil {
			return 0, err
		}
		d, err := c.Delta(epsilon)
		if a == Optimistic {
			return d.Lower, err
		}
		return d.Upper, err
	}
	curve, err := curveOf(r, a)
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

// curveOf returns ε as a function of δ.
func curveOf(r run, a Accountant) (func(delta float64) (float64, error), error) {
	c, err := r.composition()
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
	case ZCDP:
		rho, ok := c.ZCDP()
		if !ok {
			return nil, errSampled
		}
		return func(delta float64) (float64, error) { return ZCDPEpsilon(rho, delta) }, nil
	case Moments:
		all := c.moments(DefaultMoments)
		return func(delta float64) (float64, error) { return momentsEpsilon(all, delta), nil }, nil
	case Advanced:
		return r.advanced, nil
	case Basic:
		return r.basic, nil
	}
	return nil, fmt.Errorf("unknown accountant %d", int(a))
}

var errSampled = errors.New("releases of samples are not zero-concentrated differentially private")

func inSampledRange(delta float64) error {
	if !(delta >= MinSampledDelta && delta < 1) {
		return fmt.Errorf("delta must be at least %v and below 1, not %v", MinSampledDelta, delta)
	}
	return nil
}
