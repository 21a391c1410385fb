package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// order is a release that is asked for.
type order struct {
	data, path string // rows, and where the release goes
	design     *schema.Design
	privacy    release.Privacy
	noise      release.Kind
	kind       ssp.Sensitivity
	spendAgain bool // a release that stands there may be overwritten
	cells      table.Options
	moments    bool // of the covariates, too
	ledger     string
	bounds     *autoBounds // nil: all are public
}

// order checks all that can be checked before a row is read.
func (f *releaseFlags) order(stderr io.Writer, data, path string) (*order, error) {
	privacy, noise, kind, err := f.privacy()
	if err != nil {
		return nil, err
	}
	cells, err := f.cells(true)
	if err != nil {
		return nil, err
	}
	design, unbounded, err := f.design(stderr, data)
	if err != nil {
		return nil, err
	}
	switch path {
	case "":
		path = besides(data, ".release.json")
	case "-":
		return nil, usagef("a release cannot go to stdout: it was paid for, and needs a file")
	}
	o := &order{data, path, design, privacy, noise, kind, f.spendAgain, cells, f.moments, f.ledger, nil}
	if err := (inputs{o.ledger}).spare(path); err != nil {
		return nil, within("--ledger", err)
	}
	if err := o.auto(stderr, f, unbounded); err != nil {
		return nil, err
	}
	if err := o.checkMoments(); err != nil {
		return nil, err
	}
	if err := o.settle(stderr); err != nil {
		return nil, err
	}
	return o, o.noteMoments(stderr)
}

// former reads the release that stands where the new one is to go; nil where
// there is nothing. What is no release is not to be overwritten, whatever is
// asked.
func (o *order) former() (*release.Release, error) {
	switch info, err := os.Stat(o.path); {
	case errors.Is(err, fs.ErrNotExist) && isLink(o.path):
		return nil, usagef("%s is a link to a file that is not there: a release may stand on a disk that is not mounted. Mount it, or remove the link", o.path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && !info.Mode().IsRegular():
		return nil, usagef("cannot write to %s: it is not a regular file", o.path)
	}
	r, err := release.ReadFile(o.path)
	if err != nil {
		return nil, usagef("%w\nThe release would go to this file, and is not to overwrite what is no release: name another one", err)
	}
	return r, nil
}

// differs says why r is not the release that is ordered, nil if it is.
func (o *order) differs(r *release.Release) error {
	if err := o.boundsDiffer(r); err != nil {
		return err
	}
	if err := r.Answers(o.adopt(r), o.privacy, o.noise); err != nil {
		return err
	}
	if has := r.Moments != nil; has != o.moments {
		return fmt.Errorf("%s moments of the covariates (--with-moments)", map[bool]string{true: "it has", false: "it has no"}[has])
	}
	want, err := o.calibrate()
	if err != nil {
		return err
	}
	// The two kinds are a factor of four apart; rounding is not the question.
	if math.Abs(r.Noise.Scale/want.Scale-1) > 1e-6 {
		return errors.New("its noise is calibrated to another sensitivity (--sensitivity)")
	}
	return nil
}

// stale reports whether the data were changed after the release was made.
func (o *order) stale() (bool, error) {
	data, err := os.Stat(o.data)
	if err != nil {
		return false, usage(err)
	}
	made, err := os.Stat(o.path)
	if err != nil {
		return false, usage(err)
	}
	return data.ModTime().After(made.ModTime()), nil
}

// leftovers refuses where a run was killed between the noise and the renaming:
// what it left would be a second release of these rows, that nobody counts. It
// may serve as the release where none stands.
func (o *order) leftovers(former *release.Release) error {
	left, err := release.Leftovers(o.path)
	if err != nil || left == nil {
		return usage(err)
	}
	remedy := fmt.Sprintf("If nobody else can have read it, remove it and run this again:  rm %s", shellWord(left[0]))
	if _, err := release.ReadFile(left[0]); err == nil && former == nil {
		remedy = fmt.Sprintf("It is complete. To use it, at no further cost:  mv %s %s\n  ", shellWord(left[0]), shellWord(o.path)) + remedy
	}
	return refusef("%s was left by a run that was killed while it wrote, or another run writes it now: a release of which nobody knows may have been read, and a new one would spend ε again.\n  %s",
		left[0], remedy)
}

// sum reads the rows, once.
func (o *order) sum(ctx context.Context, stderr io.Writer) (s sums, err error) {
	noteMissing(stderr, o.cells)
	_, err = o.scan(stderr, nil, func(rows io.Reader) error {
		s, err = o.accumulate(ctx, o.cells.CSV(rows, o.data, o.design))
		return err
	})
	return s, err
}

// scan lets do read the file, which must stay as it is meanwhile, and as it was
// where it has been read before: rows that change would make a release of no data
// set at all, which looks newer than the data.
func (o *order) scan(stderr io.Writer, before fs.FileInfo, do func(rows io.Reader) error) (fs.FileInfo, error) {
	f, err := openData(o.data)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if before == nil {
		if before, err = f.Stat(); err != nil {
			return nil, usage(err)
		}
	}
	rows, finish := readingBar(stderr, f)
	defer finish()
	if err := do(rows); err != nil {
		return nil, usage(offerMissing(err))
	}
	after, err := os.Stat(o.data)
	if err != nil || !os.SameFile(before, after) || before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) {
		return nil, usagef("%s changed while it was read: nothing was made of it; run this again when it is complete", o.data)
	}
	return before, nil
}

// manyRows stands for a number of rows that is not public: enough for any design.
const manyRows = 1_000_000

// publish spends ε: it draws the noise and writes the release, over the former
// one if there is one. check, where it is not nil, may still refuse once the
// number of rows is known; where that is not public it is not told, and no
// refusal depends on it.
func (o *order) publish(ctx context.Context, stderr io.Writer, former *release.Release, check func(n int64) error) (r *release.Release, err error) {
	if err := checkWritable(o.path); err != nil {
		return nil, err
	}
	if err := o.leftovers(former); err != nil {
		return nil, err
	}
	paid, err := o.payment(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { paid.finish(ctx, stderr, err == nil) }()
	rows, noised, err := o.rows(ctx, stderr)
	if err != nil {
		return nil, err
	}
	if err := o.sufficient(rows); err != nil {
		return nil, err
	}
	public := o.privacy.Neighbours != release.AddRemove
	if check != nil {
		n := rows
		if !public {
			n = manyRows
		}
		if err := check(n); err != nil {
			return nil, err
		}
	}
	if public {
		o.warn(stderr, rows)
	}
	if err := paid.pay(ctx, stderr); err != nil {
		return nil, err
	}
	r, err = noised()
	if err != nil {
		return nil, fmt.Errorf("no release was made: %w", err)
	}
	if former != nil {
		err = r.WriteFile(o.path)
	} else {
		err = r.WriteNewFile(o.path)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		// Two runs at once must not both spend: what was drawn here is forgotten.
		return nil, refusef("another run wrote %s while this one read the rows: this one made no release and showed nobody its noise", o.path)
	case err != nil:
		return nil, err
	}
	if !public {
		o.warn(stderr, max(1, r.N))
	}
	note(stderr, "release written to %s: it spent %s", o.path, describe(o.privacy))
	tellBounds(stderr, r)
	return r, nil
}

// again says what overwriting a release means.
func (o *order) again(stderr io.Writer, former *release.Release) {
	if former.Privacy == nil {
		note(stderr, "--spend-again: %s will be overwritten; whatever it spent stays spent", o.path)
		return
	}
	sum := fmt.Sprintf("ε adds up to %.12g", former.Privacy.Epsilon+o.privacy.Epsilon)
	if delta := former.Privacy.Delta + o.privacy.Delta; delta > 0 {
		sum += fmt.Sprintf(" and δ to %.12g", delta)
	}
	note(stderr, "--spend-again: %s will be overwritten, but the %s that it spent stays spent; if both are of the same persons, %s",
		o.path, describe(*former.Privacy), sum)
}
