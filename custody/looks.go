package custody

import (
	"cmp"
	"context"
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

// inLastLook is the noise on the statistics of the last step with this privacy, if it had the first frame.
func (s *Settled) inLastLook(p release.Privacy) (release.Noise, error) {
	budget, err := ssp.NewBudget(p)
	if err != nil {
		return release.Noise{}, err
	}
	l := &looker{Settled: &Settled{Order: s.Order, dummies: s.dummies, budget: budget, plan: s.shares(p)}}
	return l.noiseIn(ssp.RoundFrame(adaptive.First(s.inFrame())), s.Steps-1)
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

// A release in several steps: see docs/adaptive.md. Step t = 1 … K has a frame, which is
// public: the first is the box, each later one was found in what the step before published.
//
//	count the radii of the rows in the frame      a pass
//	publish the counts                            noise; they choose the radius
//	sum the rows, clipped to the radius           a pass
//	publish the sums                              noise; they find the next frame
//
// The first pass comes before the charge, and whatever a cell may be refused for is refused
// there. All else comes after it, in memory, until the release is complete: a run that ends
// before that has shown nobody any noise, and the next one pays, and draws, again.

// gather reads the rows once more. Rows that are not those of the first pass are an error,
// whatever the files' times say.
func gather[T interface {
	ssp.Summand
	Digest() ssp.Digest
}](ctx context.Context, l *looker, f *release.Frame, radii bool) (parts []T, err error) {
	pass := ssp.Pass{Columns: l.inFrame(), Frame: f, Radii: radii, Dummies: l.dummies}
	all, err := l.gather(ctx, pass)
	if err != nil {
		return nil, err
	}
	parts, found := ssp.Parts[T](all)
	if l.rows == nil {
		l.rows = &found
	}
	if found != *l.rows {
		return nil, changed(l.Rows)
	}
	return parts, nil
}

// whole are the parts together.
func whole[T ssp.Summand](parts []T, err error) (all T, _ error) {
	for i, part := range parts {
		if i == 0 {
			all = part
		} else if err = all.Merge(part); err != nil {
			break
		}
	}
	return all, err
}

// looker takes the looks of one release.
type looker struct {
	*Settled
	rows *ssp.Digest // nil before the first pass
	n    float64     // number of rows: public, or as the first noisy radii have it

	noise    *release.LevelNoise // of sums by levels
	measured []float64
}

// readRadii reads the rows as they will be read again, and counts their radii in the first
// frame.
func (s *Settled) readRadii(ctx context.Context) (n int64, noised func() (*release.Release, error), err error) {
	l := &looker{Settled: s}
	counted, err := l.count(ctx, 0, s.Frame)
	if err != nil {
		return 0, nil, err
	}
	return counted.N(), func() (*release.Release, error) {
		if s.Steps > 1 {
			return l.looks(ctx, counted)
		}
		all, err := s.sum(ctx)
		if err != nil {
			return nil, err
		}
		return s.noised(ctx, all)
	}, nil
}

// looks takes all looks, and makes the release of them. counted are the radii in the first
// frame.
func (l *looker) looks(ctx context.Context, counted *ssp.RadiusCount) (*release.Release, error) {
	if l.public() {
		l.n = float64(counted.N())
	}
	var looks []release.Look
	for frame := l.Frame; ; {
		look, err := l.look(ctx, len(looks), frame, counted)
		if err != nil {
			return nil, err
		}
		if looks = append(looks, look); len(looks) == l.Steps {
			return l.made(looks)
		}
		frame = ssp.RoundFrame(adaptive.Next(&look, l.n, l.inFrame()))
		if counted, err = l.count(ctx, len(looks), frame); err != nil {
			return nil, err
		}
	}
}

// count counts the radii of the rows in the frame of step t, from 0.
func (l *looker) count(ctx context.Context, t int, f *release.Frame) (*ssp.RadiusCount, error) {
	if t > 0 || !l.auto { // else the number of rows decides how many there are
		l.sayf("step %d of %d: radii", t+1, l.Steps)
	}
	return whole(gather[*ssp.RadiusCount](ctx, l, f, true))
}

// look publishes the radii of step t, sums the rows within the radius that they tell, and
// publishes the sums.
func (l *looker) look(ctx context.Context, t int, f *release.Frame, counted *ssp.RadiusCount) (look release.Look, err error) {
	radii, n, err := l.budget.PublishRadii(counted, l.plan.Radii[t], l.entropy())
	if err != nil {
		return look, err
	}
	if t == 0 && !l.public() {
		l.n = float64(max(1, n))
	}
	if f, err = l.within(t, f, radii); err != nil {
		return look, err
	}
	l.sayf("step %d of %d: sums", t+1, l.Steps)
	levels, err := gather[*ssp.BallAccumulator](ctx, l, f, false)
	if err != nil {
		return look, err
	}
	if l.byLevel(t) {
		look, l.noise, l.measured, err = l.budget.PublishLevelLook(levels, f, l.plan.Looks[t], l.entropy())
		look.Radii = radii
		return look, err
	}
	sums, err := whole(levels, nil)
	if err != nil {
		return look, err
	}
	look, err = l.budget.PublishLook(sums, f, l.plan.Looks[t], l.entropy())
	look.Radii = radii
	return look, err
}

// byLevel tells whether the look of step t is of sums by levels: the last is.
func (l *looker) byLevel(t int) bool { return l.ByLevel != "" && t == l.Steps-1 }

// within is the frame with its radius.
func (l *looker) within(t int, f *release.Frame, radii *release.Radii) (_ *release.Frame, err error) {
	f = l.plan.Radius(t, f, radii, l.n, func(f *release.Frame) release.Noise {
		noise, failed := l.noiseIn(f, t)
		err = cmp.Or(err, failed)
		return noise
	})
	if l.byLevel(t) {
		f.Weight = f.Radius * l.budget.LevelWeight()
	}
	return ssp.RoundFrame(f), err
}

// noiseIn is the noise of the look of step t in a frame; of sums by levels that on products.
func (l *looker) noiseIn(f *release.Frame, t int) (release.Noise, error) {
	if l.byLevel(t) {
		noise, _, err := l.budget.LevelNoise(l.inFrame(), f, l.plan.Looks[t])
		return noise, err
	}
	return l.budget.Noise(l.inFrame(), f, l.plan.Looks[t])
}

// made is the release of its last look, with a record of those before.
func (l *looker) made(looks []release.Look) (*release.Release, error) {
	before, last := looks[:len(looks)-1], looks[len(looks)-1]
	privacy, design := l.left(), *l.Design
	design.Covariates, design.Factors = slices.Clone(design.Covariates), slices.Clone(design.Factors)
	r := &release.Release{
		Format:     release.FormatFrame,
		Simulated:  l.entropy().IsSimulated(),
		Schema:     design,
		Privacy:    &privacy,
		N:          last.N,
		NNoise:     last.NNoise,
		Noise:      last.Noise,
		Statistics: last.Statistics,
		Frame:      last.Frame,
		Radii:      last.Radii,
		Steps:      before,
	}
	if l.public() {
		r.N = int64(l.n)
	}
	if l.noise != nil {
		r.Format = release.FormatLevels
		r.TakeLevels(release.NewLevels(l.ByLevel, l.dummies, l.noise), l.measured)
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("the release is not valid: %w", err)
	}
	return r, nil
}
