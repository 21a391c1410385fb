package main

import (
	"context"
	"io"
	"net/url"
	"time"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/pushdown/duckdb"
	"github.com/dpreg/dpreg/pushdown/postgres"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/signature"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// releaseFlags are those of what makes a release.
const releaseFlags = columnFlags + fileFlags + remoteFlags + " person person-rows rows eps delta mechanism neighbours steps split with-moments by-level per-level spend-again ledger no-ledger sign pad-time "

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
		f.foretell(order, rows)
		return nil
	}
	f.noteMissing(order.Cells)
	made, err := order.PublishParts(f.ctx())
	if err != nil {
		return err
	}
	if err := report.Statement(f.stdout(), made[0]); err != nil {
		return err
	}
	f.note("next: dpreg infer %s%s", whereOf(order), map[bool]string{true: " --family binomial"}[release.Responds(order.Model(), order.ByLevel)])
	return nil
}

// whereOf is the file of the release, or those of all parts, for a shell.
func whereOf(o *custody.Settled) string {
	return files.Quoted(o.Path) + map[bool]string{true: "/*.json"}[o.Split > 0]
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
	o, err := custody.Cells(table.Options{Missing: table.Missing(f.missing), BadCell: table.BadCell(f.badCell), NA: f.na, Other: f.other, ByLevels: f.byLevel != ""}, neighbours)
	o.Empty = o.Empty && released
	return o, err
}

// form is how the flags say that files are written.
func (f *flags) form() (table.Form, error) {
	delim, err := table.ParseDelim(f.delim)
	if err != nil {
		return table.Form{}, usagef("--delim %w", err)
	}
	return table.Form{Delim: delim, Comma: f.decimal == ",", Encoding: f.encoding}, nil
}

// findRows finds the rows, where they are in files.
func (d *dataset) findRows(data string) (err error) {
	if d.remote == nil {
		d.source, err = d.find(data)
	}
	return err
}

func (f *flags) find(data string) (*table.Source, error) {
	form, err := f.form()
	if err != nil {
		return nil, err
	}
	s, err := table.Find(data)
	if err != nil {
		return nil, usage(err)
	}
	s.Form, s.Done = form, f.ctx().Done()
	return s, nil
}

// noteMissing says what becomes of missing cells. That there were any, and how many,
// it must not say: it is computed from the rows.
func (f *flags) noteMissing(o table.Options) {
	if o.BadCell == table.BadMissing {
		f.note("--on-bad-cell missing: a cell that is no number, truth value or level counts as missing")
	}
	switch o.Missing {
	case table.Midpoint:
		f.note("--missing midpoint: a missing cell counts as the middle of its public bounds, which biases slopes, as a rule towards 0 (docs/factors.md)")
	case table.Drop:
		f.note("--missing drop: a row with a missing cell is left out (docs/factors.md)")
	}
}

func (d *dataset) order(data, path string) (*custody.Settled, error) {
	o := custody.Order{
		Mechanism:   release.Kind(d.mechanism),
		WithMoments: d.moments,
		ByLevel:     d.byLevel,
		PerLevel:    d.perLevel,
		StatedRows:  d.rows,
		Split:       d.split,
		Path:        path,
		SpendAgain:  d.spendAgain,
		NoLedger:    d.noLedger,
		PadTime:     time.Duration(d.padTime * float64(time.Second)),
		Say:         d.say,
	}
	a := d.ledgerOf(data)
	o.Ledger, o.MakeLedger = a.Path, a.Make
	var err error
	if o.Sign, err = d.signer(); err != nil {
		return nil, err
	}
	if o.Privacy, err = d.privacy(); err != nil {
		return nil, err
	}
	if o.Steps, err = custody.ParseSteps(d.looks); err != nil {
		return nil, err
	}
	if o.Persons, err = custody.ParsePersons(d.person, d.personRows); err != nil {
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
	if path == "" {
		if o.Path = besides(data, map[bool]string{false: ".release.json", true: ".parts"}[d.split > 0]); o.Path == "" {
			return nil, usagef("beside %s there is no place for a release: say where it is to go, by -o FILE (release) or --release FILE (fit)", d.place())
		}
	}
	o.Rows = d.rowsOf()
	d.takeCells(&o)
	d.keepResponse(&o)
	return custody.Settle(o)
}

// signer is the key of --sign; nil: there is none.
func (f *flags) signer() (*signature.Key, error) {
	if f.signKey == "" {
		return nil, nil
	}
	key, err := signature.ReadKey(f.signKey)
	return &key, usage(within("--sign", err))
}

// keepsResponse tells whether sums by the levels of the response of a family are taken, for as many looks as there are.
func (f *flags) keepsResponse(d *schema.Design) bool {
	return f.family != "" && f.looks == "auto" && f.byLevel == "" && d.Response.Binary()
}

// keepResponse orders, where the number of looks is open, what leaves the response of a family as it is: sums by
// its levels where it has two, and else one look.
func (d *dataset) keepResponse(o *custody.Order) {
	if y := o.Design.Response; d.family == "" && d.looks != "1" && o.ByLevel == "" && y.Binary() {
		d.note("of several looks this release will not serve --family, as %s is moved with all other columns; --by-level %[1]s keeps it", files.Quoted(y.FactorName()))
	}
	if d.family == "" || d.looks != "auto" || o.Steps == 1 || release.Responds(o.Design, o.ByLevel) {
		return
	}
	const moved = "from the second look on rows are moved to an ellipsoid's surface, and --family %s needs the response as it is: "
	why := "no schema has it as boolean, as an integer from 0 to 1, or of two levels"
	if o.ByLevel != "" {
		why = "sums are by those of " + files.Quoted(o.ByLevel)
	}
	if by := *o; d.keepsResponse(o.Design) {
		by.ByLevel, by.Say = o.Design.Response.FactorName(), nil
		_, err := custody.Settle(by)
		if err == nil {
			o.ByLevel = by.ByLevel
			d.note(moved+"sums by the levels of %s (--by-level %[2]s) are of all other columns", d.family, files.Quoted(by.ByLevel))
			return
		}
		why = err.Error()
	}
	o.Steps = 1
	d.note(moved+"one look (--steps 1), as several would be by its levels, and %s", d.family, why)
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
		return s, usage(cells.Offer(err))
	}}
	if at, ok := d.remote.(pushdown.Rows); ok {
		rows.Scan = func(ctx context.Context, of *schema.Design, cells table.Options, sink func([]float64) error) error {
			q, err := pushdown.New(of, cells)
			if err == nil {
				err = q.Scan(ctx, at, sink)
			}
			return usage(cells.Offer(err))
		}
	}
	return rows
}

// filesOf are rows that are read here, with a bar.
func filesOf(stderr io.Writer, rows *table.Source) custody.Files {
	return custody.Files{Source: rows, Reading: func(s *table.Source, done, total int64) func() { return readingBar(stderr, s, done, total) }}
}

// remote is where rows are summed that this program does not read: a table of PostgreSQL or
// DuckDB, or the result of a query that somebody else put.
type remote interface {
	Header() []string // names of the columns; nil: they are not known there
	Sum(ctx context.Context, q *pushdown.Query) (*ssp.Statistics, error)
	Close()
	String() string // for messages
}

// open connects to what sums the rows, and says what release and schema are called after.
func (f *flags) open() (at remote, name string, err error) {
	switch {
	case f.aggregates != "":
		f.note("%s holds exact sums, as sensitive as the rows: remove it once the release is made", f.aggregates)
		return pushdown.File(f.aggregates), f.aggregates, nil
	case duckdb.IsPlace(f.from):
		t, err := duckdb.Open(f.ctx(), f.from, f.table)
		if err != nil {
			return nil, "", usage(within("--from", err))
		}
		return t, t.Name, nil
	}
	parts, err := pushdown.ParseTable(f.table)
	if err != nil {
		return nil, "", usagef("--table: %w", err)
	}
	if at, err := url.Parse(f.from); err == nil {
		if _, has := at.User.Password(); has || at.Query().Has("password") {
			f.note("--from has a password, which other users of this machine can see while this runs: ~/.pgpass or PGPASSWORD would keep it from them")
		}
	}
	t, err := postgres.Open(f.ctx(), f.from, parts)
	if err != nil {
		return nil, "", usage(within("--from", err))
	}
	return t, parts[len(parts)-1], nil
}

// elsewhere tells whether rows are summed elsewhere.
func (f *flags) elsewhere() bool { return f.from != "" || f.aggregates != "" }

// oneData takes a data file where there is no flag that stands for it.
func (f *flags) oneData(args []string) error {
	switch {
	case f.from != "" && f.aggregates != "":
		return usagef("--from and --aggregates: the sums come from one of them")
	case (f.from == "") != (f.table == ""):
		return usagef("--from and --table go together: a database and the table in it")
	case !f.elsewhere():
		return takes(1, "a data file")(f.cmd, args)
	case len(args) > 0:
		return usagef("a data file and --from or --aggregates: the rows are in one of them (is a quotation mark missing around a formula?)")
	}
	return nil
}

// publicColumns names the columns of the schema file and, after them, those that only
// --bounds names, where there is nothing else to ask.
func (f *dataset) publicColumns() (names []string, err error) {
	if f.described != nil {
		names = schema.Names(f.described.Columns)
	}
	for _, c := range f.stated {
		if f.described == nil || f.described.Index(c.Name) < 0 {
			names = append(names, c.Name)
		}
	}
	if names == nil {
		return nil, usagef("there are no columns: say which, and within which public bounds, by --schema FILE or --bounds NAME=LOWER:UPPER")
	}
	return names, nil
}

// locate takes what the rows are called from the arguments; or opens what sums them for the
// release in the file path, which close then closes.
func (d *dataset) locate(args []string, path string) (data string, err error) {
	if err := d.oneData(args); err != nil {
		return "", err
	}
	if !d.elsewhere() {
		return args[0], nil
	}
	if err := d.refuseGiven(fileFlags, "--%s is of files, and the rows are elsewhere"); err != nil {
		return "", err
	}
	if d.person != "" && d.aggregates != "" {
		return "", usagef("--person needs the rows, and --aggregates has their sums: dpreg release reads files, PostgreSQL and DuckDB")
	}
	const apart = "the rows, which --from and --aggregates leave where they are"
	if err := d.refuseAuto("looks at " + apart + ": give public bounds"); err != nil {
		return "", err
	}
	if d.moments {
		return "", usagef("--with-moments needs %s", apart)
	}
	if err := (inputs{d.aggregates}).spare(path); err != nil {
		return "", err
	}
	d.remote, data, err = d.open()
	return data, err
}

func (d *dataset) close() {
	if d.remote != nil {
		d.remote.Close()
	}
}

func writeSQL(f *flags, _ []string) error {
	dialect, err := pushdown.DialectOf(f.dialect)
	if err != nil {
		return usagef("--dialect: %w", err)
	}
	at, err := pushdown.ParseTable(f.table)
	if err != nil {
		return usagef("--table: %w", err)
	}
	cells, err := f.cells(false)
	if err != nil {
		return err
	}
	if err := f.refuseAuto("looks at the rows: give public bounds"); err != nil {
		return err
	}
	data := at[len(at)-1]
	d := &dataset{flags: f, remote: pushdown.File(data)} // the columns are known as they will be to release --aggregates
	design, _, err := d.design(data)
	if err != nil {
		return err
	}
	q, err := pushdown.New(design, cells)
	if err != nil {
		return usage(err)
	}
	if err := f.ctx().Err(); err != nil {
		return err
	}
	f.noteMissing(cells)
	f.note("the result of this query is as sensitive as the rows; the release of it is made by dpreg release --aggregates")
	_, err = io.WriteString(f.stdout(), q.SQL(dialect, at))
	return err
}
