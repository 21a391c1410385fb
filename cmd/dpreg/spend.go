package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
