package accounting

import (
	"errors"
	"fmt"
	"math"
)

// Interval brackets a number: the truth is not below Lower and not above Upper.
type Interval struct{ Lower, Upper float64 }

// Composition is a sequence of releases of the same data. Each may be chosen in the
// light of the results before it, as long as how much noise it has and how often
// each kind is used is fixed beforehand. The zero value is empty; Gaussian, Laplace,
// Pure and Sampled add to it.
type Composition struct {
	pairs  []pair
	counts []float64
}

// MaxCount is the largest number of releases of a kind.
const MaxCount = 1_000_000_000

// Gaussian adds count releases with normal noise of standard deviation sigma on a
// vector of this L2 sensitivity. Errors: sigma or sensitivity not positive and
// finite or their ratio out of [MinMultiplier, MaxMultiplier], count out of
// [1, MaxCount].
func (c *Composition) Gaussian(sigma, sensitivity float64, count int) error {
	if err := check(positive("sigma", sigma), positive("sensitivity", sensitivity), inMultipliers("sigma", sigma/sensitivity)); err != nil {
		return err
	}
	return c.add(sampled{sigma: sigma / sensitivity, q: 1}, count)
}

// Laplace adds count releases with Laplace noise of this scale on a vector of this L1
// sensitivity. Errors as of Gaussian.
func (c *Composition) Laplace(scale, sensitivity float64, count int) error {
	if err := check(positive("scale", scale), positive("sensitivity", sensitivity), inMultipliers("scale", scale/sensitivity)); err != nil {
		return err
	}
	return c.add(laplace{scale: scale / sensitivity}, count)
}

// Pure adds count releases that are (epsilon, 0)-differentially private, whatever they
// are. Errors: epsilon not in [1e-6, 100], count out of [1, MaxCount].
func (c *Composition) Pure(epsilon float64, count int) error {
	if !(epsilon >= 1e-6 && epsilon <= 100) {
		return fmt.Errorf("epsilon must be from 1e-6 to 100, not %v", epsilon)
	}
	return c.add(pure{epsilon: epsilon}, count)
}

// Sampled adds the steps of t. Errors: those of t.Check.
func (c *Composition) Sampled(t Training) error {
	if err := t.Check(); err != nil {
		return err
	}
	return c.add(t.pair(), t.Steps)
}

func (c *Composition) add(p pair, count int) error {
	if count < 1 || count > MaxCount {
		return fmt.Errorf("the number of releases must be from 1 to %d, not %d", MaxCount, count)
	}
	c.pairs, c.counts = append(c.pairs, p), append(c.counts, float64(count))
	return nil
}

// directions are both, or one where the other is the same.
func (c *Composition) directions(tail float64) []*direction {
	all := []*direction{c.direction(false, tail)}
	for _, p := range c.pairs {
		if !p.symmetric() {
			return append(all, c.direction(true, tail))
		}
	}
	return all
}

// MinSampledDelta is the smallest δ of a composition of more than normal noise.
const MinSampledDelta = 1e-200

// spill is the mass, relative to δ, that may be left out of the laws altogether.
const spill = 1e-9

func (c *Composition) tail(delta float64) float64 {
	return math.Max(MinDelta, spill*delta/sum(c.counts))
}

var errEmpty = errors.New("nothing is released")

// Epsilon brackets the smallest ε for which the composition is (ε, delta)-
// differentially private. For normal noise without sampling it is exact, up to the
// error of Delta; otherwise the bracket is some 1e-5 of ε wide, in all but extreme
// cases. Errors: delta not in [MinDelta, 1), or less than
// MinSampledDelta where there is other noise; nothing composed.
func (c *Composition) Epsilon(delta float64) (Interval, error) {
	if err := inRange(delta); err != nil {
		return Interval{}, err
	}
	if len(c.pairs) == 0 {
		return Interval{}, errEmpty
	}
	if mu, ok := c.normal(); ok {
		return analyticEpsilon(mu, delta)
	}
	if delta < MinSampledDelta {
		return Interval{}, fmt.Errorf("delta must be at least %v, not %v", MinSampledDelta, delta)
	}
	directions := c.directions(c.tail(delta))
	estimates := make([]estimate, len(directions))
	first := 0
	for i, d := range directions {
		if estimates[i] = d.scoutEpsilon(delta); estimates[i].epsilon > estimates[first].epsilon {
			first = i
		}
	}
	all := directions[first].epsilon(estimates[first], delta)
	// The other direction matters where its rough bound is not below this.
	for i, d := range directions {
		if i != first && estimates[i].upper > all.Lower {
			other := d.epsilon(estimates[i], delta)
			all = Interval{math.Max(all.Lower, other.Lower), math.Max(all.Upper, other.Upper)}
		}
	}
	if !(all.Upper < math.Inf(1)) || all.Upper-all.Lower > wide*all.Upper {
		all.Upper = math.Min(all.Upper, (&renyi{Composition: c}).epsilon(delta))
	}
	return all, nil
}

// wide is the width of a bracket, relative to its upper end, from which on Rényi divergences may be
// better.
const wide = 0.01

// Delta brackets the smallest δ for which the composition is (epsilon, δ)-
// differentially private. Errors: epsilon negative or not finite, nothing composed.
func (c *Composition) Delta(epsilon float64) (Interval, error) {
	if err := nonNegative("epsilon", epsilon); err != nil {
		return Interval{}, err
	}
	if len(c.pairs) == 0 {
		return Interval{}, errEmpty
	}
	if mu, ok := c.normal(); ok {
		return analyticDelta(mu, epsilon), nil
	}
	var all Interval
	for _, direction := range c.directions(MinDelta) {
		d := c.delta(direction, epsilon)
		all = Interval{math.Max(all.Lower, d.Lower), math.Max(all.Upper, d.Upper)}
	}
	if all.Upper-all.Lower > wide*all.Upper {
		all.Upper = math.Min(all.Upper, (&renyi{Composition: c}).delta(epsilon))
	}
	return all, nil
}

// delta brackets δ in one direction, given as laws with all their tails.
func (c *Composition) delta(wide *direction, epsilon float64) Interval {
	if epsilon >= wide.most*(1+unit*float64(8*len(c.counts))) {
		return Interval{}
	}
	// δ falls as ε grows: where it is too small, a larger one bounds it.
	least, _ := wide.tilts.epsilon(math.Log(MinSampledDelta))
	at := math.Min(epsilon, least)
	// Chernoff's bound may be some powers of ten above δ.
	d := c.direction(wide.mirrored, c.tail(math.Exp(wide.tilts.logDelta(at)-10)))
	bracket := d.delta(d.scoutDelta(at))
	if at < epsilon {
		bracket.Lower = 0
	}
	return bracket
}

// normal tells whether all is normal noise without sampling, which composes to one
// release with a sensitivity of μ standard deviations, μ² the sum of all squares.
func (c *Composition) normal() (mu float64, ok bool) {
	squares := 0.
	for j, p := range c.pairs {
		s, is := p.(sampled)
		if !is || s.q < 1 {
			return 0, false
		}
		distance := 1 / s.sigma
		if s.replace {
			distance *= 2
		}
		squares += c.counts[j] * distance * distance
	}
	return math.Sqrt(squares), true
}

func analyticEpsilon(mu, delta float64) (Interval, error) {
	upper, err := Epsilon(1/mu, delta, 1+8*unit)
	if err != nil {
		return Interval{}, err
	}
	// Without the margin, and as much beyond, Epsilon's is the lower bound.
	lower, err := Epsilon(1/mu, math.Min(delta*(1+4*margin), 1-unit), 1-8*unit)
	return Interval{math.Min(lower, upper), upper}, err
}

func analyticDelta(mu, epsilon float64) Interval {
	logs := logDelta(epsilon, 1/mu, 1)
	return Interval{math.Exp(logs - 4*margin), math.Min(1, math.Exp(logs+4*margin))}
}
