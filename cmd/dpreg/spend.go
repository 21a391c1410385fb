package main

import (
	"context"
	"io"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// order is what the flags ask for.
func (f *releaseFlags) order(stderr io.Writer, data, path string) (*custody.Settled, error) {
	o := custody.Order{
		WithMoments: f.moments,
		Path:        path,
		SpendAgain:  f.spendAgain,
		Ledger:      f.ledger,
		Say:         sayTo(stderr),
	}
	var err error
	if o.Privacy, o.Mechanism, o.Sensitivity, err = f.privacy(); err != nil {
		return nil, err
	}
	if o.Cells, err = f.cells(true); err != nil {
		return nil, err
	}
	if o.Design, o.Bounds.Columns, err = f.design(stderr, data); err != nil {
		return nil, err
	}
	if _, o.Bounds.Share, err = splitBounds(f.bounds); err != nil {
		return nil, err
	}
	if o.Bounds.Rows = f.rows; o.Bounds.Columns == nil && o.Bounds.Share != 0 {
		note(stderr, "--bounds auto: every column has public bounds, so that no part of ε is used for any")
	}
	switch path {
	case "":
		if o.Path = besides(data, ".release.json"); o.Path == "" {
			return nil, usagef("beside %s there is no place for a release: say where it is to go, by -o FILE (release) or --release FILE (fit)", f.place())
		}
	case "-":
		return nil, usagef("a release cannot go to stdout: it was paid for, and needs a file")
	}
	o.Rows = f.rowsOf(stderr)
	return custody.Settle(o)
}

// rowsOf is where the rows are.
func (f *releaseFlags) rowsOf(stderr io.Writer) custody.Source {
	if f.remote == nil {
		return filesOf(stderr, f.source)
	}
	return custody.Elsewhere{Name: f.remote.String(), Sum: f.sumRemote}
}

// sumRemote has the rows summed where they are.
func (f *releaseFlags) sumRemote(ctx context.Context, d *schema.Design, cells table.Options) (*ssp.Statistics, error) {
	q, err := pushdown.New(d, cells)
	if err != nil {
		return nil, usage(err)
	}
	s, err := f.remote.sum(ctx, q)
	return s, usage(table.Offer(err))
}

// filesOf are rows that are read here, with a bar.
func filesOf(stderr io.Writer, rows *table.Source) custody.Files {
	return custody.Files{Source: rows, Reading: func(s *table.Source, bytes int64) func() { return readingBar(stderr, s, bytes) }}
}

// sayTo notes messages.
func sayTo(stderr io.Writer) func(string) {
	return func(text string) { note(stderr, "%s", text) }
}
