package custody

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

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

// gatherer are rows that can be read again and again.
type gatherer interface {
	gather(ctx context.Context, s *Settled, pass ssp.Pass) (ssp.Summand, error)
}

// gather reads the rows once more. Rows that are not those of the first pass are an error,
// whatever the files' times say.
func gather[T interface {
	ssp.Summand
	Digest() ssp.Digest
}](ctx context.Context, l *looker, f *release.Frame, radii bool) (parts []T, err error) {
	pass := ssp.Pass{Columns: l.inFrame(), Frame: f, Radii: radii, Dummies: l.dummies}
	all, err := l.Rows.(gatherer).gather(ctx, l.Settled, pass) // readable refused all others
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
		all, err := s.Rows.sum(ctx, s)
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
	} else if sums, failed := whole(levels, nil); failed != nil {
		return look, failed
	} else {
		look, err = l.budget.PublishLook(sums, f, l.plan.Looks[t], l.entropy())
	}
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
