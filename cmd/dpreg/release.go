package main

import (
	"context"
	"io"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// releaseFlags are those of what makes a release.
const releaseFlags = columnFlags + remoteFlags + " rows eps delta mechanism neighbours steps with-moments spend-again ledger "

func runRelease(f *flags, args []string) error {
	d := &dataset{flags: f}
	data, err := d.locate(args, f.output)
	if err != nil {
		return err
	}
	defer d.close()
	order, err := d.order(data, f.output)
	if err != nil {
		return err
	}
	order.Check = func(rows int64) error {
		foretell(f.stderr(), order, rows)
		return nil
	}
	f.noteMissing(order.Cells)
	r, err := order.Publish(f.ctx())
	if err != nil {
		return err
	}
	if err := report.Statement(f.stdout(), r); err != nil {
		return err
	}
	f.note("next: dpreg infer %s", files.Quoted(order.Path))
	return nil
}

// dataset is the rows that flags name.
type dataset struct {
	*flags
	source *table.Source // of the rows, once the columns are known
	names  bool          // the columns' names can be shown: they are known not to be a row
	remote remote        // not nil: sums the rows in place of source

	described *schema.Schema // what the schema file says; nil: there is none
	from      string         // that file
}

// privacy is what is promised.
func (f *flags) privacy() (release.Privacy, error) {
	return custody.ParsePrivacy(f.epsilon, f.delta, f.neighbours)
}

// cells turns the flags into options of the table. Rows may be left out where their
// number is not public: under add-remove neighbours, or where nothing is released.
func (f *flags) cells(released bool) (table.Options, error) {
	neighbours := release.Neighbours(f.neighbours)
	if !released {
		neighbours = release.AddRemove
	}
	o, err := custody.Cells(table.Options{Missing: table.Missing(f.missing), NA: f.na}, neighbours)
	o.Empty = o.Empty && released
	return o, err
}

// noteMissing says what becomes of missing cells. That there were any, and how many,
// it must not say: it is computed from the rows.
func (f *flags) noteMissing(o table.Options) {
	switch o.Missing {
	case table.Midpoint:
		f.note("--missing midpoint: a missing cell counts as the middle of its public bounds, which biases slopes, as a rule towards 0 (docs/factors.md)")
	case table.Drop:
		f.note("--missing drop: a row with a missing cell is left out (docs/factors.md)")
	}
}

// order is what the flags ask for.
func (d *dataset) order(data, path string) (*custody.Settled, error) {
	o := custody.Order{
		Mechanism:   release.Kind(d.mechanism),
		WithMoments: d.moments,
		StatedRows:  d.rows,
		Path:        path,
		SpendAgain:  d.spendAgain,
		Ledger:      d.ledger,
		Say:         d.say,
	}
	var err error
	if o.Privacy, err = d.privacy(); err != nil {
		return nil, err
	}
	if o.Steps, err = custody.ParseSteps(d.looks); err != nil {
		return nil, err
	}
	if o.Cells, err = d.cells(true); err != nil {
		return nil, err
	}
	if o.Design, o.Bounds.Columns, err = d.design(data); err != nil {
		return nil, err
	}
	if o.Bounds.Share = d.share; o.Bounds.Columns == nil && d.share != 0 {
		d.note("--bounds auto: every column has public bounds, so that no part of ε is used for any")
	}
	switch path {
	case "":
		if o.Path = besides(data, ".release.json"); o.Path == "" {
			return nil, usagef("beside %s there is no place for a release: say where it is to go, by -o FILE (release) or --release FILE (fit)", d.place())
		}
	case "-":
		return nil, usagef("a release cannot go to stdout: it was paid for, and needs a file")
	}
	o.Rows = d.rowsOf()
	return custody.Settle(o)
}

// rowsOf is where the rows are.
func (d *dataset) rowsOf() custody.Source {
	if d.remote == nil {
		return filesOf(d.stderr(), d.source)
	}
	rows := custody.Elsewhere{Name: d.remote.String(), Sum: func(ctx context.Context, of *schema.Design, cells table.Options) (*ssp.Statistics, error) {
		q, err := pushdown.New(of, cells)
		if err != nil {
			return nil, usage(err)
		}
		s, err := d.remote.Sum(ctx, q)
		return s, usage(table.Offer(err))
	}}
	if at, ok := d.remote.(pushdown.Rows); ok {
		rows.Scan = func(ctx context.Context, of *schema.Design, cells table.Options, sink func([]float64) error) error {
			q, err := pushdown.New(of, cells)
			if err == nil {
				err = q.Scan(ctx, at, sink)
			}
			return usage(table.Offer(err))
		}
	}
	return rows
}

// filesOf are rows that are read here, with a bar.
func filesOf(stderr io.Writer, rows *table.Source) custody.Files {
	return custody.Files{Source: rows, Reading: func(s *table.Source, done, total int64) func() { return readingBar(stderr, s, done, total) }}
}
