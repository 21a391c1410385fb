package accounting

import "math"

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
