package accounting

import (
	"fmt"
	"math"
)

// FindMultiplier returns the smallest multiplier for which an accountant's ε for delta
// is at most epsilon, up to a relative 2e-6; t's own is not read. Optimistic has one that
// does not serve: no smaller one is enough. Errors: those of Check for the other
// fields, epsilon not positive and finite, delta not in [MinSampledDelta, 1), none that
// serves; of Optimistic, none that does not.
func (t Training) FindMultiplier(a Accountant, epsilon, delta float64) (float64, error) {
	t.Multiplier = 1
	if err := t.Check(); err != nil {
		return 0, err
	}
	if t.Rate == 1 && (a == PLD || a == Optimistic) {
		return t.analytic(a, epsilon, delta)
	}
	return search{
		name: "sigma", few: MaxMultiplier, many: MinMultiplier, start: 1,
		with: func(x float64) run { t.Multiplier = x; return t },
	}.find(a, epsilon, delta)
}

// analytic is the multiplier of T releases without sampling: normal noise composes to
// one release of √T times the sensitivity.
func (t Training) analytic(a Accountant, epsilon, delta float64) (float64, error) {
	if err := check(positive("epsilon", epsilon), inSampledRange(delta)); err != nil {
		return 0, err
	}
	sensitivity := math.Sqrt(float64(t.Steps))
	if t.Scheme != PoissonAddRemove {
		sensitivity *= 2
	}
	if a == PLD {
		// That much more is above the errors of logDelta, so that Epsilon agrees.
		return Sigma(epsilon, delta, sensitivity*(1+2*margin))
	}
	return Sigma(epsilon, math.Min(delta*(1+4*margin), 1-unit), sensitivity*(1-4*unit))
}

// FindRate returns the largest rate likewise.
func (t Training) FindRate(a Accountant, epsilon, delta float64) (float64, error) {
	t.Rate = 0.5
	if err := t.Check(); err != nil {
		return 0, err
	}
	return search{
		name: "q", few: MinRate, many: 1, start: 0.01, complete: true,
		with: func(x float64) run { t.Rate = x; return t },
	}.find(a, epsilon, delta)
}

// FindSteps returns the largest number of steps likewise.
func (t Training) FindSteps(a Accountant, epsilon, delta float64) (int, error) {
	t.Steps = 1
	if err := t.Check(); err != nil {
		return 0, err
	}
	steps, err := search{
		name: "number of steps", few: 1, many: MaxCount, start: 1000, whole: true,
		with: func(x float64) run { t.Steps = int(x); return t },
	}.find(a, epsilon, delta)
	return int(steps), err
}

// search is for a field: few is the end of its range with the smallest ε, many that
// with the largest.
type search struct {
	name      string
	few, many float64
	start     float64
	factor    float64 // of the first step
	whole     bool
	complete  bool // there is nothing beyond many
	with      func(float64) run
}

// narrow is how close to each other, relative to them, a value that serves and one that
// does not are in the end.
const narrow = 2e-6

func (s search) find(a Accountant, epsilon, delta float64) (float64, error) {
	if err := check(positive("epsilon", epsilon), inSampledRange(delta)); err != nil {
		return 0, err
	}
	s.factor = 2
	if a == PLD || a == Optimistic { // Rényi divergences say about where, and quickly
		if near, err := s.find(RDP, epsilon, delta); err == nil {
			s.start, s.factor = near, 1.1
		}
	}
	var failure error
	// excess is positive where x is too much: log of the ε that it has, over epsilon.
	excess := func(x float64) float64 {
		curve, err := curveOf(s.with(x), a)
		if err == nil {
			var e float64
			if e, err = curve(delta); err == nil {
				return math.Log(e / epsilon)
			}
		}
		failure = err
		return math.Inf(1)
	}
	serves, fails, err := s.bracket(excess)
	if err != nil {
		if failure != nil {
			err = fmt.Errorf("%w: %w", err, failure)
		}
		return 0, err
	}
	if serves.x == fails.x { // the whole range serves
		if a == Optimistic && !s.complete {
			return 0, fmt.Errorf("every %s to %v serves, so that none is known not to", s.name, s.many)
		}
		return serves.x, nil
	}
	serves, fails = s.close(excess, serves, fails)
	if a == Optimistic && !s.whole {
		return fails.x, nil
	}
	return serves.x, nil
}

type tried struct{ x, excess float64 }

// bracket goes from start to the end that is called for, by factors that grow.
func (s search) bracket(excess func(float64) float64) (serves, fails tried, err error) {
	last := tried{s.start, excess(s.start)}
	good := last.excess <= 0
	end := s.few
	if good {
		end = s.many
	}
	for factor := s.factor; last.x != end; factor *= factor {
		x := end
		switch {
		case s.start > end && last.x/factor > end:
			x = s.round(last.x/factor, math.Floor)
		case s.start < end && last.x*factor < end:
			x = s.round(last.x*factor, math.Ceil)
		}
		next := tried{x, excess(x)}
		switch {
		case good && next.excess > 0:
			return last, next, nil
		case !good && next.excess <= 0:
			return next, last, nil
		}
		last = next
	}
	if !good {
		return last, last, fmt.Errorf("no %s within [%v, %v] gives this privacy", s.name, math.Min(s.few, s.many), math.Max(s.few, s.many))
	}
	return last, last, nil
}

// round keeps to whole numbers where the field has them.
func (s search) round(x float64, whole func(float64) float64) float64 {
	if s.whole {
		return whole(x)
	}
	return x
}

// close narrows the bracket by the rule of false position in log x, with the Illinois
// modification, and by halving where an excess is not finite.
func (s search) close(excess func(float64) float64, serves, fails tried) (tried, tried) {
	for !s.done(serves.x, fails.x) {
		share := 0.5
		if d := serves.excess - fails.excess; !math.IsInf(d, 0) {
			share = math.Max(0.01, math.Min(0.99, serves.excess/d))
		}
		x := serves.x * math.Pow(fails.x/serves.x, share)
		if s.whole {
			low, high := math.Min(serves.x, fails.x), math.Max(serves.x, fails.x)
			x = math.Max(low+1, math.Min(high-1, math.Round(x)))
		}
		if next := (tried{x, excess(x)}); next.excess <= 0 {
			serves = next
			fails.excess /= 2
		} else {
			fails = next
			serves.excess /= 2
		}
	}
	return serves, fails
}

func (s search) done(serves, fails float64) bool {
	if s.whole {
		return math.Abs(serves-fails) <= 1
	}
	return math.Abs(math.Log(serves/fails)) < narrow
}
