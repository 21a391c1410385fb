package custody

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/signature"
	"github.com/dpreg/dpreg/ssp"
)

// Publish makes the release that is ordered. It spends ε, once: each call spends it again.
//
// Errors: an *Error where the order or the rows cannot stand. Any other tells that something
// failed, of the machine or of the context. A ledger shows whether it was charged. No error
// comes from the noise.
func Publish(ctx context.Context, o Order) (*release.Release, error) {
	s, err := Settle(o)
	if err != nil {
		return nil, err
	}
	return s.Publish(ctx)
}

// Publish makes the release: it reads the rows, charges, draws the noise and writes the
// file, over the former one if there is one and SpendAgain. Whatever can be refused is
// refused before the charge; where the number of rows is not public, it is not told, and no
// refusal depends on it.
func (s *Settled) Publish(ctx context.Context) (r *release.Release, err error) {
	if s.Split > 0 {
		return nil, Misuse(errors.New("an order with --split has parts, which PublishParts makes"))
	}
	former, err := s.free()
	if err != nil {
		return nil, err
	}
	err = spend(ctx, s, s.read, func(made *release.Release, public bool, paid *Payment) error {
		r = made
		if err := s.write(r, former); err != nil {
			return err
		}
		if err := s.sign(paid); err != nil {
			return fmt.Errorf("%s is written and paid for, but not signed: %w", s.Path, err)
		}
		if !public {
			s.sayDelta(max(1, r.N))
		}
		if s.Path != "" {
			s.sayf("release written to %s: it spent %s%s", s.Path, Describe(s.Privacy), map[bool]string{true: ", for each person"}[s.people != nil])
		}
		s.sayBounds(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// spend has the rows of an order read, charges for what they cost, has its noise drawn, and hands it on when
// PadTime is over: in this order, whatever leaves. read gives how many rows there are, and what draws the noise.
func spend[Made any](ctx context.Context, s *Settled, read func(context.Context) (int64, func() (Made, error), error), leave func(made Made, public bool, paid *Payment) error) (err error) {
	began := time.Now()
	paid, err := s.payment(ctx)
	if err != nil {
		return err
	}
	s.passes, s.marks = nil, paid.Marks() // those of this release
	s.meet(paid)
	defer func() { paid.Finish(ctx, err == nil) }()
	rows, noised, err := read(ctx)
	if err != nil {
		return err
	}
	public, err := s.check(rows)
	if err != nil {
		return err
	}
	if err := s.pay(ctx, paid); err != nil {
		return err
	}
	made, err := noised()
	if err != nil {
		return fmt.Errorf("no release was made: %w", err)
	}
	if err := s.pad(ctx, began); err != nil {
		return err
	}
	return leave(made, public, paid)
}

// sayAll is Say, and no nil.
func (o *Order) sayAll(text string) { o.sayf("%s", text) }

// free looks, before anything is read, whether the file can be written, and gives the release
// that it would overwrite; nil if there is none.
func (s *Settled) free() (former *release.Release, err error) {
	if s.Path == "" {
		return nil, nil
	}
	if former, err = s.Former(); err != nil {
		return nil, err
	}
	if former != nil {
		if !s.SpendAgain {
			return nil, Refusef("%s holds a release already. A new one would spend ε again.\n"+
				"  At no further cost:  dpreg infer %s\n"+
				"  To spend ε again:    -o FILE keeps both, --spend-again overwrites the old one",
				s.Path, files.Quoted(s.Path))
		}
		s.sayAgain(former)
	}
	if err := files.CheckWritable(s.Path); err != nil {
		return nil, Misuse(err)
	}
	return former, s.leftovers(former)
}

// read reads the rows, and returns how many there are and what draws the noise, which reads them
// again as often as it takes; all that may be refused for what a cell holds is refused here.
func (s *Settled) read(ctx context.Context) (n int64, noised func() (*release.Release, error), err error) {
	n, ofRows, err := s.readRows(ctx)
	return n, func() (*release.Release, error) {
		r, err := ofRows()
		if err != nil {
			return nil, err
		}
		if s.responds {
			r = r.FactorLast()
		}
		return s.ofPersons(r)
	}, err
}

func (s *Settled) readRows(ctx context.Context) (n int64, noised func() (*release.Release, error), err error) {
	switch {
	case s.bounds != nil:
		return s.readMagnitudes(ctx)
	case s.Steps > 1:
		return s.readRadii(ctx)
	case s.PerLevel:
		return s.readPerLevel(ctx)
	case s.WithMoments:
		return s.readMoments(ctx)
	}
	all, err := s.sum(ctx)
	if err != nil {
		return 0, nil, err
	}
	if s.ByLevel != "" {
		if err := all.CheckLevels(s.dummies); err != nil {
			return 0, nil, Misuse(err)
		}
	}
	return all.N, func() (*release.Release, error) { return s.noised(ctx, all) }, nil
}

func (s *Settled) readPerLevel(ctx context.Context) (n int64, noised func() (*release.Release, error), err error) {
	all, err := s.gather(ctx, ssp.Pass{Columns: s.dim() - s.dummies, Dummies: s.dummies})
	if err != nil {
		return 0, nil, err
	}
	levels := ssp.PerLevel(all)
	for _, level := range levels {
		n += level.N
	}
	return n, func() (*release.Release, error) {
		return ssp.PublishPerLevel(ctx, levels, s.crossed, s.ByLevel, s.left(), s.Mechanism, s.entropy())
	}, nil
}

// readMoments sums the moments of the covariates, too.
func (s *Settled) readMoments(ctx context.Context) (n int64, noised func() (*release.Release, error), err error) {
	m, moments := s.dim(), []*ssp.MomentAccumulator(nil)
	all, err := ssp.Pass{Columns: m}.Gather(s.workers(), func(sinks ...func([]float64) error) error {
		both := slices.Clone(sinks)
		for i, sink := range sinks {
			part := ssp.NewMomentAccumulator(m - 1)
			moments = append(moments, part)
			both[i] = func(rows []float64) error { return errors.Join(sink(rows), part.AddRows(rows)) }
		}
		return s.Rows.scan(ctx, s)(both...)
	})
	if err != nil {
		return 0, nil, err
	}
	for _, part := range moments[1:] {
		if err := moments[0].Merge(part); err != nil {
			return 0, nil, err
		}
	}
	sums := all.(*ssp.Accumulator).Statistics()
	return sums.N, func() (*release.Release, error) {
		return ssp.PublishMoments(ctx, sums, moments[0], s.Design, s.left(), s.Mechanism, s.entropy())
	}, nil
}

// check refuses what can be refused once the number of rows is known, and tells whether
// that is public.
func (s *Settled) check(rows int64) (public bool, err error) {
	public = s.public()
	if !public {
		rows = s.StatedRows
	}
	if err := s.sufficient(rows); err != nil {
		return public, err
	}
	if public && rows < 1 {
		return public, Misuse(errors.New("there are no rows: nothing can be released"))
	}
	if public && s.Split > 0 && s.each(rows) <= int64(s.dim()) {
		return public, Misusef("--split %d: of %d rows a part has %d, too few for %d columns: take fewer parts", s.Split, rows, s.each(rows), s.dim())
	}
	if err := s.share(s.each(rows)); err != nil {
		return public, err
	}
	if s.Check != nil {
		if err := s.Check(rows); err != nil {
			return public, err
		}
	}
	if public {
		s.sayDelta(rows)
	}
	return public, nil
}

// public tells whether the number of rows is.
func (s *Settled) public() bool { return s.Privacy.Neighbours != release.AddRemove }

// entropy is what noise is drawn from.
func (s *Settled) entropy() *mechanisms.Entropy {
	if s.Entropy != nil {
		return s.Entropy
	}
	return mechanisms.OS()
}

func (s *Settled) noised(ctx context.Context, all *ssp.Statistics) (*release.Release, error) {
	if s.ByLevel != "" {
		return ssp.PublishLevels(ctx, all, s.Design, s.ByLevel, s.left(), s.Mechanism, s.entropy())
	}
	return ssp.Publish(ctx, all, s.Design, s.left(), s.Mechanism, ssp.Exact, s.entropy())
}

// pad waits until PadTime is over.
func (s *Settled) pad(ctx context.Context, began time.Time) error {
	left := time.Until(began.Add(s.PadTime))
	switch {
	case s.PadTime == 0:
		return nil
	case left < 0:
		s.sayf("warning: --pad-time: it took longer than %v, so that how long it took is not hidden", s.PadTime)
		return nil
	}
	wait := time.NewTimer(left)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// sign signs the file. A signature of a former one that nobody renews goes.
func (s *Settled) sign(paid *Payment) error {
	switch {
	case s.Path == "":
		return nil
	case s.Sign == nil:
		if err := os.Remove(s.Path + signature.Suffix); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	statement := signature.Statement{Program: signature.Version(), Time: time.Now()}
	if paid != nil {
		statement.Ledger = paid.after.Head()
	}
	if err := s.Sign.Sign(s.Path, statement); err != nil {
		return err
	}
	s.sayf("signed: %s", s.Path+signature.Suffix)
	return nil
}

// write writes the release. Two runs at once must not both spend: what was drawn by the one
// that comes second is forgotten.
func (s *Settled) write(r, former *release.Release) error {
	switch {
	case s.Path == "":
		return nil
	case former != nil:
		return r.WriteFile(s.Path)
	}
	return s.raced(r.WriteNewFile(s.Path))
}

// raced says what became of the noise where another run wrote first.
func (s *Settled) raced(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return Refusef("another run wrote %s while this one read the rows: this one made no release and showed nobody its noise", s.Path)
	}
	return err
}
