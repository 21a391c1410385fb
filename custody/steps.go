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

// MaxSteps is the largest number of steps.
const MaxSteps = 8

// settleSteps refuses steps that cannot be had.
func (s *Settled) settleSteps() error {
	switch flag := fmt.Sprintf("--steps %d", s.Steps); {
	case s.Steps == 0:
		s.Steps = 1
	case s.Steps < 0 || s.Steps > MaxSteps:
		return Misusef("%s: from 1 to %d", flag, MaxSteps)
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

// readable refuses rows that cannot be read several times.
func (s *Settled) readable(flag string) error {
	if _, ok := s.Rows.(Scaled); ok {
		return nil
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

// shares plans what part of a privacy each step has; rows is their number where it is public;
// else the one stated, or 0.
func (s *Settled) shares(p release.Privacy, rows int64) adaptive.Plan {
	return adaptive.NewPlan(s.dim(), float64(rows), p, s.Steps)
}

// share makes the plan, and refuses one that would spend more than there is.
func (s *Settled) share(rows int64) error {
	if s.Steps == 1 {
		return nil
	}
	s.plan = s.shares(s.left(), rows)
	all, sum := slices.Concat(s.plan.Looks, s.plan.Radii), new(big.Rat)
	for _, share := range all {
		sum.Add(sum, new(big.Rat).SetFloat64(share))
	}
	if len(s.plan.Looks) != s.Steps || len(s.plan.Radii) != s.Steps || sum.Cmp(big.NewRat(1, 1)) > 0 {
		return fmt.Errorf("the shares of %d steps, %v, are more than there is: nothing was charged or released", s.Steps, s.plan)
	}
	_, err := s.budget.Noise(s.dim(), s.Frame, slices.Min(all))
	return Misuse(err)
}

// dim is the number of columns.
func (s *Settled) dim() int { return len(s.Design.Columns()) }

// noises are those of the steps with this privacy, if all had the first frame.
func (s *Settled) noises(p release.Privacy) (all []release.Noise, err error) {
	budget, err := ssp.NewBudget(p)
	if err != nil {
		return nil, err
	}
	first := ssp.RoundFrame(adaptive.First(s.dim()))
	for _, share := range s.shares(p, s.StatedRows).Looks {
		noise, err := budget.Noise(s.dim(), first, share)
		if err != nil {
			return nil, err
		}
		all = append(all, noise)
	}
	return all, nil
}

// betterInSteps is ssp.Choose for several steps, by the geometric mean of the standard
// deviations of their noise: early steps must find the frame in which the last one measures.
func (s *Settled) betterInSteps() (kind release.Kind, factor float64, err error) {
	p := s.left()
	gaussian, err := s.noises(p)
	if err != nil {
		return "", 0, err
	}
	p.Delta = 0
	ball, err := s.noises(p)
	if err != nil {
		return "", 0, err
	}
	sum := 0.0
	for t, noise := range ball {
		sum += math.Log(noise.SD() / gaussian[t].SD())
	}
	if factor = math.Exp(sum / float64(s.Steps)); factor > 1 {
		return release.Gaussian, factor, nil
	}
	return release.Ball, 1 / factor, nil
}

// saySteps compares the noise of the last step with that which one step would have, by what was
// released.
func (s *Settled) saySteps(r *release.Release) {
	if len(r.Steps) == 0 {
		return
	}
	once := *s
	once.Steps, once.Mechanism = 1, release.Laplace
	if s.Mechanism == release.Gaussian {
		once.Mechanism = release.Gaussian
	}
	box, err := once.calibrate()
	if err != nil {
		return // it is not for this to say
	}
	s.sayf("%d steps: the noise of the last one has %.2g of the sd that one step would have (geometric mean over directions)",
		s.Steps, r.Noise.SD()*shrunk(r.Frame)/box.SD())
}

// shrunk is the geometric mean over directions of what noise on squares in a frame is in scaled
// units: det(W)^(−2/m).
func shrunk(f *release.Frame) float64 {
	logDet := 0.0
	for j, row := range f.Matrix {
		logDet += math.Log(row[j])
	}
	return math.Exp(-2 * logDet / float64(len(f.Matrix)))
}
