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

// deltas brackets, of any ε, the smallest δ for which the composition is (ε, δ)-differentially
// private. The laws with all their tails are cut once.
func (c composition) deltas() func(epsilon float64) interval {
	if mu, ok := c.normal(); ok {
		return func(epsilon float64) interval { return analyticDelta(mu, epsilon) }
	}
	directions := c.directions(MinDelta)
	return func(epsilon float64) interval {
		var all interval
		for _, d := range directions {
			all = all.and(c.deltaOf(d, epsilon))
		}
		if all.upper-all.lower > wide*all.upper {
			all.upper = math.Min(all.upper, (&renyi{composition: c}).delta(epsilon))
		}
		return all
	}
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

// direction is a composition of the pair (P, Q), or, mirrored, of (Q, P): of removing
// a record, or of adding one.
type direction struct {
	composition
	mirrored bool
	tail     float64
	widest   float64 // absolute loss
	most     float64 // loss of the whole
	tilts    *tilts
}

func (c composition) direction(mirrored bool, tail float64) *direction {
	l := c.pair.law(resolution{step: math.Inf(1), tail: tail})
	d := &direction{composition: c, mirrored: mirrored, tail: tail, widest: l.reach(), most: c.count * c.pair.most(mirrored)}
	if mirrored {
		l = l.mirrored()
	}
	d.tilts = newTilts(l, c.count)
	return d
}

// loud is how large, relative to a law's whole mass, what is summed up for δ(ε) should
// be for rounding errors to be about 1e-6 beside it. They grow with the number of
// releases, and with that of coefficients that matter: all, where there are atoms.
func (d *direction) loud() float64 {
	if d.pair.span() > 0 {
		return 1e-4 * d.count
	}
	return 1e-7 * d.count
}

// A bound may be off the truth by accuracy, relative to ε. Transforms of about scout
// points find out which step that takes, and none is longer than maxSize.
const (
	accuracy = 4.5e-6
	scout    = 1 << 13
	// An estimate is made at most so often.
	maxRounds = 8
	maxSize   = 1 << 22
)

// estimate is about where δ(ε) is δ, and how fast the logarithm of its slope falls
// there; upper is the ε that a pessimistic lattice gives, as coarse as it is.
type estimate struct{ epsilon, logDelta, bend, upper float64 }

func (e estimate) focus() focus { return focus{slope: e.bend, most: math.Exp(-e.logDelta)} }

// scoutEpsilon estimates ε, first from Chernoff bounds, then by rough lattices, until it
// is steady.
func (d *direction) scoutEpsilon(delta float64) estimate {
	e := estimate{logDelta: math.Log(delta), upper: math.Inf(1)}
	bound, slope := d.tilts.epsilon(e.logDelta)
	e.epsilon, e.bend = bound, slope
	margin := bound
	for round := range maxRounds {
		w, ok := d.tilts.window(e.epsilon, e.logDelta, d.loud())
		if !ok {
			return e
		}
		rough := d.on(d.rough(w, margin, e.bend), e.focus()).upper()
		before := e.epsilon
		e.upper = math.Min(e.upper, rough.epsilon(delta, before))
		e.epsilon = math.Max(0, math.Min(bound, e.upper))
		margin = math.Abs(before-e.epsilon) / 4
		e.bend = rough.bend(e.epsilon)
		if round > 0 && margin < w.distance/100 {
			break
		}
	}
	return e
}

func (d *direction) scoutDelta(epsilon float64) estimate {
	e := estimate{epsilon: epsilon, logDelta: d.tilts.logDelta(epsilon)}
	_, e.bend = d.tilts.epsilon(e.logDelta)
	for round := range maxRounds {
		w, ok := d.tilts.window(epsilon, e.logDelta, d.loud())
		if !ok {
			return e
		}
		rough := d.on(d.rough(w, 0, e.bend), e.focus()).upper()
		before := e.logDelta
		if delta := rough.delta(epsilon); delta > 0 {
			e.logDelta = math.Min(e.logDelta, math.Log(delta))
		}
		e.bend = rough.bend(epsilon)
		if round > 0 && before-e.logDelta < 0.1 {
			break
		}
	}
	return e
}

// rough is a grid for an estimate that may be off by a tenth of a standard deviation,
// in a window that is wider by margin.
func (d *direction) rough(w window, margin, bend float64) grid {
	const deviations = 7 // in a window
	step := d.stepFor(w.distance/deviations/10, bend)
	w.distance += margin
	step = math.Max(math.Min(step, 2*w.distance/scout), math.Max(2*w.distance/(64*scout), d.widest/(8*scout)))
	return d.grid(w, math.Max(step, d.pair.span()/(scout/2)))
}

// stepFor is the step for which connect moves ε by shift: a step of h adds about h²/6 to the
// variance of each loss and, as E_Q e^ℓ stays, h²/12 to its mean, which moves ε by
// count·(h²/12)(1 + |δ″/δ′|).
func (d *direction) stepFor(shift, bend float64) float64 {
	return math.Sqrt(12 * shift / (d.count * (1 + bend)))
}

// fine is the grid for which connect moves ε by shift or less.
func (d *direction) fine(e estimate, shift float64) (g grid, ok bool) {
	w, ok := d.tilts.window(e.epsilon, e.logDelta, d.loud())
	if !ok {
		return g, false
	}
	w.distance *= 1.05
	step := d.stepFor(math.Max(shift, accuracy*w.distance/100), e.bend)
	if span := d.pair.span(); span > 0 { // the estimate is worse, and a step costs less
		step = math.Max(step/2, span/(8*scout))
	}
	return d.grid(w, step), true
}

// bracketEpsilon brackets the ε of a δ; where no window was found between 0 and +Inf.
func (d *direction) bracketEpsilon(e estimate, delta float64) interval {
	g, ok := d.fine(e, accuracy*e.epsilon)
	if !ok {
		return interval{0, e.upper}
	}
	on := d.on(g, e.focus())
	upper, lower := on.upper().epsilon(delta, e.epsilon), on.lower().epsilon(delta, e.epsilon)
	if math.IsInf(lower, 1) { // not found
		lower = 0
	}
	return interval{math.Max(0, lower), math.Max(0, math.Min(upper, e.upper))}
}

// bracketDelta brackets the δ of an ε; where no window was found between 0 and 1.
func (d *direction) bracketDelta(e estimate) interval {
	g, ok := d.fine(e, 10*accuracy/(1+e.bend))
	if !ok {
		return interval{0, 1}
	}
	on := d.on(g, e.focus())
	return interval{on.lower().delta(e.epsilon), math.Min(1, on.upper().delta(e.epsilon))}
}

// grid is a circle of n points of a lattice, wide enough for a window.
type grid struct {
	window
	step float64
	n    int
}

// grid has the given step, or a smaller one that has atoms at ±span/2 on the lattice,
// or a larger one where memory would not do: there atoms lie beside it.
func (d *direction) grid(w window, step float64) grid {
	least := math.Max(2*w.distance/maxSize, d.widest/(maxSize/2))
	step = math.Max(step, least)
	if span := d.pair.span(); span > 0 {
		if aligned := span / 2 / math.Ceil(span/2/step); aligned >= least/2 {
			step = aligned
		}
	}
	return grid{w, step, smooth(2 * w.distance / step)}
}

// smooth is the next even number whose factors are small, out of several to a doubling.
func smooth(least float64) int {
	for n := 16; ; n *= 2 {
		for _, m := range []int{16, 18, 20, 24, 27, 30} {
			if float64(n*m) >= least {
				return n * m
			}
		}
	}
}
