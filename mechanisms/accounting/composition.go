package accounting

import "math"

// interval brackets a number: the truth is not below lower and not above upper.
type interval struct{ lower, upper float64 }

// and is an interval for the larger of two numbers.
func (i interval) and(j interval) interval {
	return interval{math.Max(i.lower, j.lower), math.Max(i.upper, j.upper)}
}

// composition is count releases that a dominating pair is for.
type composition struct {
	pair  pair
	count float64
}

// directions are both, or one where the other is the same.
func (c composition) directions(tail float64) []*direction {
	all := []*direction{c.direction(false, tail)}
	if !c.pair.symmetric() {
		all = append(all, c.direction(true, tail))
	}
	return all
}

// spill is the mass, relative to δ, that may be left out of the laws altogether.
const spill = 1e-9

func (c composition) cut(delta float64) float64 { return math.Max(MinDelta, spill*delta/c.count) }

// epsilon brackets the smallest ε for which the composition is (ε, delta)-differentially
// private.
func (c composition) epsilon(delta float64) (interval, error) {
	if mu, ok := c.normal(); ok {
		return analyticEpsilon(mu, delta)
	}
	directions := c.directions(c.cut(delta))
	estimates := make([]estimate, len(directions))
	first := 0
	for i, d := range directions {
		if estimates[i] = d.scoutEpsilon(delta); estimates[i].epsilon > estimates[first].epsilon {
			first = i
		}
	}
	all := directions[first].bracketEpsilon(estimates[first], delta)
	// The other direction matters where its rough bound is not below this.
	for i, d := range directions {
		if i != first && estimates[i].upper > all.lower {
			all = all.and(d.bracketEpsilon(estimates[i], delta))
		}
	}
	if !(all.upper < math.Inf(1)) || all.upper-all.lower > wide*all.upper {
		all.upper = math.Min(all.upper, (&renyi{composition: c}).epsilon(delta))
	}
	return all, nil
}

// wide is the width of a bracket, relative to its upper end, from which on Rényi divergences may be
// better.
const wide = 0.01

// delta brackets the smallest δ for which the composition is (epsilon, δ)-differentially
// private.
func (c composition) delta(epsilon float64) interval {
	if mu, ok := c.normal(); ok {
		return analyticDelta(mu, epsilon)
	}
	var all interval
	for _, d := range c.directions(MinDelta) {
		all = all.and(c.deltaOf(d, epsilon))
	}
	if all.upper-all.lower > wide*all.upper {
		all.upper = math.Min(all.upper, (&renyi{composition: c}).delta(epsilon))
	}
	return all
}

// deltaOf brackets δ in one direction, given as laws with all their tails.
func (c composition) deltaOf(wide *direction, epsilon float64) interval {
	if epsilon >= wide.most*(1+unit*8) {
		return interval{}
	}
	// δ falls as ε grows: where it is too small, a larger one bounds it.
	least, _ := wide.tilts.epsilon(math.Log(MinSampledDelta))
	at := math.Min(epsilon, least)
	// Chernoff's bound may be some powers of ten above δ.
	d := c.direction(wide.mirrored, c.cut(math.Exp(wide.tilts.logDelta(at)-10)))
	bracket := d.bracketDelta(d.scoutDelta(at))
	if at < epsilon {
		bracket.lower = 0
	}
	return bracket
}

// normal tells whether all is normal noise without sampling, which composes to one
// release with a sensitivity of μ standard deviations.
func (c composition) normal() (mu float64, ok bool) {
	s, is := c.pair.(sampled)
	if !is || s.q < 1 {
		return 0, false
	}
	return math.Sqrt(c.count * s.distance() * s.distance()), true
}

func analyticEpsilon(mu, delta float64) (interval, error) {
	upper, err := Epsilon(1/mu, delta, 1+8*unit)
	if err != nil {
		return interval{}, err
	}
	// Without the margin, and as much beyond, Epsilon's is the lower bound.
	lower, err := Epsilon(1/mu, math.Min(delta*(1+4*margin), 1-unit), 1-8*unit)
	return interval{math.Min(lower, upper), upper}, err
}

func analyticDelta(mu, epsilon float64) interval {
	logs := logDelta(epsilon, 1/mu, 1)
	return interval{math.Exp(logs - 4*margin), math.Min(1, math.Exp(logs+4*margin))}
}
