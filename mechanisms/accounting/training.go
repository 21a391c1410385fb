package accounting

import (
	"fmt"
	"math"
)

// Scheme says which data sets are neighbours, what noise a step has, and how its batch is
// drawn.
type Scheme int

const (
	// PoissonAddRemove: normal noise; each record is in a batch with probability q,
	// independently; neighbours have one record more or less.
	PoissonAddRemove Scheme = iota
	// PoissonReplaceOne: as above; neighbours differ by the values of one record.
	PoissonReplaceOne
	// LaplaceNoise: on a vector that neighbours move by at most 1 in L1, without sampling;
	// the multiplier is the noise's scale.
	LaplaceNoise
)

// Training is a sequence of steps, each of which releases the sum over a batch of
// vectors, one a record, of norm at most C, with normal noise of standard deviation
// Multiplier·C: stochastic gradient descent with clipped gradients, of Abadi et al.
// (Deep Learning with Differential Privacy, CCS 2016), for one. Each may be chosen in the
// light of the results before it, as long as the noise and the rate are fixed beforehand.
type Training struct {
	Multiplier float64 // σ
	Rate       float64 // q, in (0, 1]
	Steps      int     // T
	Scheme     Scheme
}

// What laws of the loss are computed for.
const (
	MinMultiplier = 0.1
	MaxMultiplier = 1e6
	MinRate       = 1e-9
	MaxCount      = 1_000_000_000 // steps
	// MinSampledDelta is the smallest δ of more than normal noise without sampling.
	MinSampledDelta = 1e-200
)

// noise names the multiplier.
func (t Training) noise() string {
	if t.Scheme == LaplaceNoise {
		return "scale"
	}
	return "sigma"
}

// Check returns an error that says which field is out of its range.
func (t Training) Check() error {
	if err := positive(t.noise(), t.Multiplier); err != nil {
		return err
	}
	switch {
	case !(t.Multiplier >= MinMultiplier && t.Multiplier <= MaxMultiplier):
		return fmt.Errorf("%s must be from %v to %v sensitivities, not %v", t.noise(), MinMultiplier, MaxMultiplier, t.Multiplier)
	case !(t.Rate >= MinRate && t.Rate <= 1):
		return fmt.Errorf("q must be from %v to 1, not %v", MinRate, t.Rate)
	case t.Steps < 1 || t.Steps > MaxCount:
		return fmt.Errorf("the number of steps must be from 1 to %d, not %d", MaxCount, t.Steps)
	case t.Scheme < PoissonAddRemove || t.Scheme > LaplaceNoise || t.Scheme == LaplaceNoise && t.Rate != 1:
		return fmt.Errorf("unknown scheme %d of sampling, of rate %v", int(t.Scheme), t.Rate)
	}
	return nil
}

func (t Training) composition() (composition, error) {
	c := composition{sampled{sigma: t.Multiplier, q: t.Rate, replace: t.Scheme == PoissonReplaceOne}, float64(t.Steps)}
	if t.Scheme == LaplaceNoise {
		c.pair = laplace{scale: t.Multiplier}
	}
	return c, t.Check()
}

// Accountant is a way to bound the privacy of a Training.
type Accountant int

const (
	// PLD is the upper end of a bracket by privacy-loss distributions, the tightest bound
	// here.
	PLD Accountant = iota
	// Optimistic is the lower end: no bound holds that is smaller.
	Optimistic
	// RDP is by Rényi divergences of many orders.
	RDP
)

// Accountants lists all.
func Accountants() []Accountant { return []Accountant{PLD, Optimistic, RDP} }

// of is an accountant's end of a bracket.
func (a Accountant) of(i interval) float64 {
	if a == Optimistic {
		return i.lower
	}
	return i.upper
}

// Epsilon returns the ε that an accountant finds for δ. For normal noise without sampling PLD
// is exact, up to the error of Delta; otherwise the bracket is some 1e-5 of ε wide, in all but
// extreme cases. Errors: those of Check, delta not in [MinSampledDelta, 1), no finite ε.
func (t Training) Epsilon(a Accountant, delta float64) (epsilon float64, err error) {
	c, err := t.composition()
	if err := check(err, inSampledRange(delta)); err != nil {
		return 0, err
	}
	if a == RDP {
		epsilon = (&renyi{composition: c}).epsilon(delta)
	} else {
		bracket, err := c.epsilon(delta)
		if err != nil {
			return 0, err
		}
		epsilon = a.of(bracket)
	}
	if math.IsInf(epsilon, 0) {
		return 0, fmt.Errorf("no finite epsilon was found")
	}
	return epsilon, nil
}

// Delta returns the δ that an accountant finds for ε, 1 where it finds no less. Errors:
// those of Check, epsilon negative or not finite.
func (t Training) Delta(a Accountant, epsilon float64) (float64, error) {
	c, err := t.composition()
	if err := check(err, nonNegative("epsilon", epsilon)); err != nil {
		return 0, err
	}
	if a == RDP {
		return (&renyi{composition: c}).delta(epsilon), nil
	}
	return a.of(c.delta(epsilon)), nil
}

// RDP returns the Rényi divergence of an order above 1 that bounds all steps. Errors: those of
// Check, an order that is not a finite number above 1.
func (t Training) RDP(order float64) (float64, error) {
	c, err := t.composition()
	if err := check(err, positive("the order less 1", order-1)); err != nil {
		return 0, err
	}
	return c.divergence(order), nil
}

func inSampledRange(delta float64) error {
	if !(delta >= MinSampledDelta && delta < 1) {
		return fmt.Errorf("delta must be at least %v and below 1, not %v", MinSampledDelta, delta)
	}
	return nil
}
