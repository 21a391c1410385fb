package custody

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// What an order of several steps is, before a row is read.

// MaxSteps is the largest number of steps, and AutoSteps leaves it to the number of rows, as 0
// does.
const (
	MaxSteps  = 8
	AutoSteps = -1
)

func (s *Settled) settleSteps() error {
	switch flag := fmt.Sprintf("--steps %d", s.Steps); {
	case s.Steps == 0 || s.Steps == AutoSteps:
		s.settleAuto()
	case s.Steps < 0 || s.Steps > MaxSteps:
		return Misusef("%s: from 1 to %d", flag, MaxSteps)
	case s.Steps > 1 && s.columns() == 1:
		return Misusef("%s: without a covariate one look is enough, and a second one would move rows far from the mean towards it, and so the intercept: take --steps 1", flag)
	case s.Steps > 1 && s.WithMoments:
		return Misusef("--with-moments goes with --steps 1: moments are not released of rows in a frame")
	case s.Steps > 1:
		if err := release.Fits(s.dim(), s.Steps); err != nil {
			return Misuse(err)
		}
		return s.readable(flag)
	}
	return nil
}

// settleAuto takes one step where rows can be read once, or stay where they are, or are asked for
// moments or Laplace noise. Else the number of rows decides: the one that is stated, or that is counted, see share.
func (s *Settled) settleAuto() {
	s.Steps = 1
	if s.WithMoments || s.Mechanism == release.Laplace {
		return
	}
	if e, away := s.Rows.(Elsewhere); away && e.Gather == nil && s.Split == 0 || s.readable("") != nil {
		s.sayf("--steps auto: one step: the rows can be read once, or are summed where they are")
		return
	}
	if s.public() {
		s.Steps, _ = adaptive.Auto(s.columns(), math.Inf(1), s.Privacy)
		s.auto = true
		return
	}
	s.takeAuto(s.each(s.StatedRows))
}

// takeAuto takes the steps for so many rows.
func (s *Settled) takeAuto(rows int64) {
	steps, why := adaptive.Auto(s.columns(), float64(rows), s.Privacy)
	s.Steps = steps
	s.sayf("--steps auto: %s", why)
}

// readable refuses rows that cannot be read several times.
func (s *Settled) readable(flag string) error {
	if s.Split > 0 { // they are kept in memory
		return nil
	}
	switch rows := s.Rows.(type) {
	case Scaled:
		return nil
	case Elsewhere:
		if rows.Scan != nil || rows.Gather != nil {
			return nil
		}
	}
	rows, err := s.files(flag)
	if err == nil && rows.Once() {
		err = once(flag, rows)
	}
	return err
}

// once is the error of rows that would have to be read several times.
func once(flag string, rows Source) error {
	return Misusef("%s reads the rows several times, and %s can be read once: put them into a file that nobody else can read", flag, rows)
}

// shares plans what part of a privacy each step has.
func (s *Settled) shares(p release.Privacy) adaptive.Plan {
	plan := adaptive.NewPlan(s.inFrame(), float64(s.rows), p, s.Steps)
	plan.Parts = s.Split
	return plan
}

// share settles what waited for the number of rows, makes the plan, and refuses one that would spend
// more than there is.
func (s *Settled) share(rows int64) error {
	if s.waits() {
		s.rows, s.Mechanism, s.Privacy.Delta = rows, s.asked.Mechanism, s.asked.Privacy.Delta
		if s.auto {
			s.takeAuto(rows)
		}
		if err := s.settleNoise(); err != nil {
			return err
		}
	}
	if s.Steps == 1 {
		return nil
	}
	if k, why := adaptive.Auto(s.columns(), float64(rows), s.Privacy); k == 1 && rows > 0 {
		s.sayf("warning: --steps %d, where --steps auto would take %s; of too few rows nearly all may be clipped, and intervals miss what that does", s.Steps, why)
	}
	s.plan = s.shares(s.left())
	all, sum := slices.Concat(s.plan.Looks, s.plan.Radii), new(big.Rat)
	for _, share := range all {
		sum.Add(sum, new(big.Rat).SetFloat64(share))
	}
	if len(s.plan.Looks) != s.Steps || len(s.plan.Radii) != s.Steps || sum.Cmp(big.NewRat(1, 1)) > 0 {
		return fmt.Errorf("the shares of %d steps, %v, are more than there is: nothing was charged or released", s.Steps, s.plan)
	}
	_, err := s.budget.Noise(s.inFrame(), s.Frame, slices.Min(all))
	return Misuse(err)
}

// waits tells whether the noise is settled once the number of rows is known.
func (s *Settled) waits() bool { return s.public() && (s.auto || s.Steps > 1) }

// dim is the number of columns, and inFrame that of those which a frame is of.
func (s *Settled) dim() int     { return len(s.Design.Columns()) }
func (s *Settled) inFrame() int { return s.dim() - s.dummies }

// columns are those of a frame, and the response.
func (s *Settled) columns() int {
	if s.responds {
		return s.dim()
	}
	return s.inFrame()
}

// noises are those of the steps with this privacy, if all had the first frame.
func (s *Settled) noises(p release.Privacy) (all []release.Noise, err error) {
	budget, err := ssp.NewBudget(p)
	if err != nil {
		return nil, err
	}
	l := &looker{Settled: &Settled{Order: s.Order, dummies: s.dummies, budget: budget, plan: s.shares(p)}}
	first := ssp.RoundFrame(adaptive.First(s.inFrame()))
	for t := range l.plan.Looks {
		noise, err := l.noiseIn(first, t)
		if err != nil {
			return nil, err
		}
		all = append(all, noise)
	}
	return all, nil
}

// betterInSteps is ssp.Choose for several steps.
func (s *Settled) betterInSteps() (kind release.Kind, factor float64, err error) {
	gaussian, pure := s.left(), s.left()
	pure.Delta = 0
	loss := func(p release.Privacy) float64 {
		return s.shares(p).Loss(s.inFrame(), float64(s.rows), p)
	}
	if factor = math.Exp(loss(pure) - loss(gaussian)); factor > 1 {
		return release.Gaussian, factor, nil
	}
	return release.Ball, 1 / factor, nil
}
