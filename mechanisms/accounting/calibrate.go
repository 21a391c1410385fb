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
	if t.Rate == 1 && t.Scheme != LaplaceNoise && a != RDP {
		return t.analytic(a, epsilon, delta)
	}
	return search{
		name: t.noise(), few: MaxMultiplier, many: MinMultiplier, start: 1,
		with: func(x float64) Training { t.Multiplier = x; return t },
	}.find(a, epsilon, delta)
}

// analytic is the multiplier of T releases without sampling: normal noise composes to
// one release of √T times the sensitivity.
func (t Training) analytic(a Accountant, epsilon, delta float64) (float64, error) {
	if err := check(t.Check(), positive("epsilon", epsilon), inSampledRange(delta)); err != nil {
		return 0, err
	}
	sensitivity := math.Sqrt(float64(t.Steps))
	if t.Scheme == PoissonReplaceOne {
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
	return search{
		name: "q", few: MinRate, many: 1, start: 0.01, complete: true,
		with: func(x float64) Training { t.Rate = x; return t },
	}.find(a, epsilon, delta)
}

// FindSteps returns the largest number of steps likewise.
func (t Training) FindSteps(a Accountant, epsilon, delta float64) (int, error) {
	steps, err := search{
		name: "number of steps", few: 1, many: MaxCount, start: 1000, whole: true,
		with: func(x float64) Training { t.Steps = int(x); return t },
	}.find(a, epsilon, delta)
	return int(steps), err
}

// search is for a field: few is the end of its range with the smallest ε, many that
// with the largest.
type search struct {
	name      string
	few, many float64
	start     float64
	whole     bool
	complete  bool // there is nothing beyond many
	with      func(float64) Training
}

// narrow is how close to each other, relative to them, a value that serves and one that
// does not are in the end.
const narrow = 2e-6

// tried is a value, and the logarithm of the ε that it has over the one asked for: positive
// where it is too much.
type tried struct{ x, excess float64 }

func (s search) find(a Accountant, epsilon, delta float64) (float64, error) {
	if err := check(s.with(s.start).Check(), positive("epsilon", epsilon), inSampledRange(delta)); err != nil {
		return 0, err
	}
	factor := 2.
	if a != RDP { // Rényi divergences say about where, and quickly
		if near, err := s.find(RDP, epsilon, delta); err == nil {
			s.start, factor = near, 1.1
		}
	}
	var failure error
	try := func(x float64) tried {
		e, err := s.with(x).Epsilon(a, delta)
		if err != nil {
			failure = err
			return tried{x, math.Inf(1)}
		}
		return tried{x, math.Log(e / epsilon)}
	}
	serves, fails := s.bracket(try, factor)
	switch {
	case serves.excess > 0:
		err := fmt.Errorf("no %s within [%v, %v] gives this privacy", s.name, math.Min(s.few, s.many), math.Max(s.few, s.many))
		if failure != nil {
			err = fmt.Errorf("%w: %w", err, failure)
		}
		return 0, err
	case serves.x == fails.x && a == Optimistic && !s.complete: // the whole range serves
		return 0, fmt.Errorf("every %s to %v serves, so that none is known not to", s.name, s.many)
	}
	serves, fails = s.close(try, serves, fails)
	if a == Optimistic && !s.whole {
		return fails.x, nil
	}
	return serves.x, nil
}

// bracket goes from start to the end that is called for, by factors that grow, until one
// value serves and the next fails. Where none does it returns that end twice.
func (s search) bracket(try func(float64) tried, factor float64) (serves, fails tried) {
	last := try(s.start)
	good, end := last.excess <= 0, s.few
	if good {
		end = s.many
	}
	for ; last.x != end; factor *= factor {
		x := end
		switch {
		case s.start > end && last.x/factor > end:
			x = s.round(last.x/factor, math.Floor)
		case s.start < end && last.x*factor < end:
			x = s.round(last.x*factor, math.Ceil)
		}
		next := try(x)
		if good && next.excess > 0 {
			return last, next
		}
		if !good && next.excess <= 0 {
			return next, last
		}
		last = next
	}
	return last, last
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
func (s search) close(try func(float64) tried, serves, fails tried) (tried, tried) {
	for math.Abs(math.Log(serves.x/fails.x)) >= narrow && !(s.whole && math.Abs(serves.x-fails.x) <= 1) {
		share := 0.5
		if d := serves.excess - fails.excess; !math.IsInf(d, 0) {
			share = math.Max(0.01, math.Min(0.99, serves.excess/d))
		}
		x := serves.x * math.Pow(fails.x/serves.x, share)
		if s.whole {
			low, high := math.Min(serves.x, fails.x), math.Max(serves.x, fails.x)
			x = math.Max(low+1, math.Min(high-1, math.Round(x)))
		}
		if next := try(x); next.excess <= 0 {
			serves = next
			fails.excess /= 2
		} else {
			fails = next
			serves.excess /= 2
		}
	}
	return serves, fails
}
