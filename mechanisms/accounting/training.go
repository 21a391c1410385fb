package accounting

import (
	"cmp"
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
	if err := cmp.Or(err, inRange(delta, MinSampledDelta)); err != nil {
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
	deltas, err := t.deltas(a)
	if err := cmp.Or(err, nonNegative("epsilon", epsilon)); err != nil {
		return 0, err
	}
	return deltas(epsilon), nil
}

// deltas is Delta of many ε.
func (t Training) deltas(a Accountant) (func(epsilon float64) float64, error) {
	c, err := t.composition()
	if err != nil {
		return nil, err
	}
	if a == RDP {
		return (&renyi{composition: c}).delta, nil
	}
	deltas := c.deltas()
	return func(epsilon float64) float64 { return a.of(deltas(epsilon)) }, nil
}

// RDP returns the Rényi divergence of an order above 1 that bounds all steps. Errors: those of
// Check, an order that is not a finite number above 1.
func (t Training) RDP(order float64) (float64, error) {
	c, err := t.composition()
	if err := cmp.Or(err, positive("the order less 1", order-1)); err != nil {
		return 0, err
	}
	return c.divergence(order), nil
}

// knots is at how many ε AsGaussian looks.
const knots = 16

// AsGaussian returns a μ for which all steps together are, up to delta, no less private than
// one release of Gaussian noise with a sensitivity of μ standard deviations: with d(ε) the
// smallest δ for which it is (ε, δ)-differentially private,
//
//	d(ε) ≤ delta + (1 − delta) g(ε),  g(ε) = δ(ε, 1/μ, 1) of (1),
//
// for every ε ≥ 0. Where Epsilon(delta) ends, d is delta: it is for smaller ε to be shown.
// Both sides are convex in z = e^ε. So between two knots a and b d is below its chord, g
// above its tangent at a point m between them,
//
//	g(m) − (z − e^m) Φ(−μ/2 − m/μ),
//
// and these are straight lines: it is enough to compare them at a and at b. For sums over
// many samples μ is about that of Gaussian noise with the same (Epsilon(delta), delta), to
// some hundredths. Errors: as of Epsilon, no μ.
func (t Training) AsGaussian(delta float64) (mu float64, err error) {
	end, err := t.Epsilon(PLD, delta)
	if err != nil {
		return 0, err
	}
	of, err := t.deltas(PLD)
	if err != nil {
		return 0, err
	}
	var epsilons, deltas [knots + 1]float64
	for i := range knots {
		epsilons[i] = end * float64(i) / knots
		deltas[i] = of(epsilons[i])
	}
	epsilons[knots], deltas[knots] = end, delta
	return smallest("mu", func(mu float64) bool {
		for i := range knots {
			if !covered(mu, delta, epsilons[i], epsilons[i+1], deltas[i], deltas[i+1]) {
				return false
			}
		}
		return true
	})
}

// covered compares the lines at knots a and b.
func covered(mu, delta, a, b, deltaA, deltaB float64) bool {
	m := (a + b) / 2
	at, slope := math.Exp(logDelta(m, 1/mu, 1)), upperTail(mu/2+m/mu)
	above := func(z, d float64) bool {
		drop := slope * (math.Exp(z) - math.Exp(m))
		return d-delta <= (1-delta)*(at-drop-margin*(at+math.Abs(drop)))
	}
	return above(a, deltaA) && above(b, deltaB)
}

// FindMultiplier returns the smallest multiplier for which an accountant's ε for delta
// is at most epsilon, up to a relative 2e-6; t's own is not read. Optimistic has one that
// does not serve: no smaller one is enough. Errors: those of Check for the other
// fields, epsilon not positive and finite, delta not in [MinSampledDelta, 1), none that
// serves; of Optimistic, none that does not.
func (t Training) FindMultiplier(a Accountant, epsilon, delta float64) (float64, error) {
	t.Multiplier = 1
	if t.Rate == 1 && t.Scheme <= PoissonReplaceOne && a != RDP {
		return t.analytic(a, epsilon, delta)
	}
	return search{
		name: t.noise(), few: MaxMultiplier, many: MinMultiplier, start: 1,
		with: func(x float64) Training { t.Multiplier = x; return t },
	}.find(narrow, a, epsilon, delta)
}

// analytic is the multiplier of T releases without sampling: normal noise composes to
// one release of √T times the sensitivity.
func (t Training) analytic(a Accountant, epsilon, delta float64) (float64, error) {
	if err := cmp.Or(t.Check(), positive("epsilon", epsilon), inRange(delta, MinSampledDelta)); err != nil {
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
	}.find(narrow, a, epsilon, delta)
}

// FindSteps returns the largest number of steps likewise.
func (t Training) FindSteps(a Accountant, epsilon, delta float64) (int, error) {
	steps, err := search{
		name: "number of steps", few: 1, many: MaxCount, start: 1000, whole: true,
		with: func(x float64) Training { t.Steps = int(x); return t },
	}.find(narrow, a, epsilon, delta)
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

// How close to each other, relative to them, a value that serves and one that does not are in the
// end; and where they only say about where to look.
const (
	narrow = 2e-6
	rough  = 0.01
)

// tried is a value, and the logarithm of the ε that it has over the one asked for: positive
// where it is too much.
type tried struct{ x, excess float64 }

func (s search) find(apart float64, a Accountant, epsilon, delta float64) (float64, error) {
	if err := cmp.Or(s.with(s.start).Check(), positive("epsilon", epsilon), inRange(delta, MinSampledDelta)); err != nil {
		return 0, err
	}
	factor := 2.
	if a != RDP { // Rényi divergences say about where, and quickly
		if near, err := s.find(rough, RDP, epsilon, delta); err == nil {
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
	serves, fails = s.close(try, apart, serves, fails)
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
func (s search) close(try func(float64) tried, apart float64, serves, fails tried) (tried, tried) {
	for math.Abs(math.Log(serves.x/fails.x)) >= apart && !(s.whole && math.Abs(serves.x-fails.x) <= 1) {
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
