package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// order is a release that is asked for.
type order struct {
	data, path string // the rows by name, and where the release goes
	source     *table.Source
	design     *schema.Design
	privacy    release.Privacy
	noise      release.Kind
	kind       ssp.Sensitivity
	spendAgain bool // a release that stands there may be overwritten
	cells      table.Options
	moments    bool // of the covariates, too
	ledger     string
	bounds     *autoBounds  // nil: all are public
	remote     remote       // not nil: sums the rows in place of source
	prior      *model.Prior // that the release is for, in scaled units; nil: the default
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
		if path = besides(data, ".release.json"); path == "" {
			return nil, usagef("beside %s there is no place for a release: say where it is to go, by -o FILE (release) or --release FILE (fit)", f.place())
		}
	case "-":
		return nil, usagef("a release cannot go to stdout: it was paid for, and needs a file")
	}
	o := &order{data, path, f.source, design, privacy, noise, kind, f.spendAgain, cells, f.moments, f.ledger, nil, f.remote, nil}
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
	if o.remote != nil {
		s.Statistics, err = o.sumRemote(ctx)
		return s, err
	}
	_, err = scan(stderr, o.source, nil, func() error {
		s, err = o.accumulate(ctx)
		return err
	})
	return s, err
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
	paid, err := o.payment(ctx, stderr)
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
	o.foretell(stderr, rows)
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
