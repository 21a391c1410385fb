package accounting

import "math"

// direction is a composition of pairs (P, Q), or, mirrored, of (Q, P): of removing
// a record, or of adding one.
type direction struct {
	pairs    []pair
	counts   []float64
	mirrored bool
	tail     float64
	widest   float64 // absolute loss
	most     float64 // loss of the whole
	tilts    *tilts
}

func (c *Composition) direction(mirrored bool, tail float64) *direction {
	d := &direction{pairs: c.pairs, counts: c.counts, mirrored: mirrored, tail: tail}
	parts := make([]part[*law], len(c.pairs))
	for j, p := range c.pairs {
		l := p.law(resolution{step: math.Inf(1), tail: tail})
		d.widest = math.Max(d.widest, l.reach())
		d.most += c.counts[j] * p.most(d.mirrors(j))
		if d.mirrors(j) {
			l = l.mirrored()
		}
		parts[j] = part[*law]{l, c.counts[j]}
	}
	d.tilts = newTilts(parts)
	return d
}

func (d *direction) mirrors(j int) bool { return d.mirrored && !d.pairs[j].symmetric() }

func (d *direction) total() float64 { return sum(d.counts) }

// loud is how large, relative to a law's whole mass, what is summed up for δ(ε) should
// be for rounding errors to be about 1e-6 beside it. They grow with the number of
// releases, and with that of coefficients that matter: all, where there are atoms.
func (d *direction) loud() float64 {
	for _, p := range d.pairs {
		if p.span() > 0 {
			return 1e-4 * d.total()
		}
	}
	return 1e-7 * d.total()
}

func sum(numbers []float64) float64 {
	total := 0.
	for _, n := range numbers {
		total += n
	}
	return total
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

// scoutDelta estimates log δ.
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
	for _, p := range d.pairs {
		step = math.Max(step, p.span()/(scout/2))
	}
	return d.grid(w, step)
}

// stepFor is the step for which connect moves ε by shift: a step of h adds about h²/6 to the
// variance of each loss and, as E_Q e^ℓ stays, h²/12 to its mean, which moves ε by
// total·(h²/12)(1 + |δ″/δ′|).
func (d *direction) stepFor(shift, bend float64) float64 {
	return math.Sqrt(12 * shift / (d.total() * (1 + bend)))
}

// fine is the grid for which connect moves ε by shift or less.
func (d *direction) fine(e estimate, shift float64) (g grid, ok bool) {
	w, ok := d.tilts.window(e.epsilon, e.logDelta, d.loud())
	if !ok {
		return g, false
	}
	w.distance *= 1.05
	step := d.stepFor(math.Max(shift, accuracy*w.distance/100), e.bend)
	for _, p := range d.pairs {
		if span := p.span(); span > 0 { // the estimate is worse, and a step costs less
			step = math.Max(step/2, span/(8*scout))
		}
	}
	return d.grid(w, step), true
}

// epsilon brackets the ε of a δ; where no window was found between 0 and +Inf.
func (d *direction) epsilon(e estimate, delta float64) Interval {
	g, ok := d.fine(e, accuracy*e.epsilon)
	if !ok {
		return Interval{0, e.upper}
	}
	on := d.on(g, e.focus())
	upper, lower := on.upper().epsilon(delta, e.epsilon), on.lower().epsilon(delta, e.epsilon)
	if math.IsInf(lower, 1) { // not found
		lower = 0
	}
	return Interval{math.Max(0, lower), math.Max(0, math.Min(upper, e.upper))}
}

// delta brackets the δ of an ε; where no window was found between 0 and 1.
func (d *direction) delta(e estimate) Interval {
	g, ok := d.fine(e, 10*accuracy/(1+e.bend))
	if !ok {
		return Interval{0, 1}
	}
	on := d.on(g, e.focus())
	return Interval{on.lower().delta(e.epsilon), math.Min(1, on.upper().delta(e.epsilon))}
}
