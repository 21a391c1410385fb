package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/pushdown/duckdb"
	"github.com/dpreg/dpreg/pushdown/postgres"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

const remoteHelp = `Rows in a PostgreSQL database are summed there: --from its URL, --table the table,
and only the sums travel. DuckDB sums what it can read, by the program dpreg-duckdb:
--from duckdb:FILE --table NAME, or --from duckdb: --table "read_json('rows.json')".
Other engines are asked by hand: dpreg sql writes the query, and --aggregates takes
its one-row result in JSON (docs/databases.md).`

// remote is where rows are summed that this program does not read.
type remote interface {
	// header gives the columns that there are, without bounds. f has the public ones.
	header(f *releaseFlags) (*schema.Schema, error)
	// sum gives the sums of the query.
	sum(ctx context.Context, q *pushdown.Query) (*ssp.Statistics, error)
	// name is what the release and the schema are called after, name.release.json; empty
	// where there is nothing to call them after.
	name() string
	String() string // for messages
	close()
}

// remoteFlags say where that is.
type remoteFlags struct{ from, table, aggregates string }

func (p *remoteFlags) register(cmd *cobra.Command) {
	p.registerDatabase(cmd)
	cmd.Flags().StringVar(&p.aggregates, "aggregates", "", "`FILE` with the result, in JSON, of the query that dpreg sql wrote with the same flags; it is as sensitive as the rows")
}

func (p *remoteFlags) registerDatabase(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&p.from, "from", "", "`URL` of a PostgreSQL database with the rows of --table, postgres://user@host/database; the password is better left to ~/.pgpass or PGPASSWORD. Or duckdb:FILE, or duckdb: alone")
	fs.StringVar(&p.table, "table", "", "`NAME` of the table or view of --from, such as people or public.people, exactly as the database has it; to duckdb: alone, what can follow FROM")
}

// args takes a data file where there is no flag that stands for it.
func (p *remoteFlags) args(cmd *cobra.Command, args []string) error {
	switch {
	case p.from != "" && p.aggregates != "":
		return usagef("--from and --aggregates: the sums come from one of them")
	case (p.from == "") != (p.table == ""):
		return usagef("--from and --table go together: a database and the table in it")
	case !p.given():
		return oneFile("a data file")(cmd, args)
	case len(args) > 0:
		return usagef("a data file and --from or --aggregates: the rows are in one of them (is a quotation mark missing around a formula?)")
	}
	return nil
}

// given tells whether rows are summed elsewhere.
func (p *remoteFlags) given() bool { return p.from != "" || p.aggregates != "" }

// open connects to the database, if there is one.
func (p *remoteFlags) open(ctx context.Context, stderr io.Writer) (remote, error) {
	switch {
	case p.aggregates != "":
		note(stderr, "%s holds exact sums, as sensitive as the rows: remove it once the release is made", p.aggregates)
		return aggregatesFile(p.aggregates), nil
	case duckdb.IsPlace(p.from):
		t, err := duckdb.Open(ctx, p.from, p.table)
		if err != nil {
			return nil, usage(within("--from", err))
		}
		return &database{t, t.Name()}, nil
	}
	name, err := pushdown.ParseTable(p.table)
	if err != nil {
		return nil, usagef("--table: %w", err)
	}
	if at, err := url.Parse(p.from); err == nil {
		if _, has := at.User.Password(); has || at.Query().Has("password") {
			note(stderr, "--from has a password, which other users of this machine can see while this runs: ~/.pgpass or PGPASSWORD would keep it from them")
		}
	}
	t, err := postgres.Open(ctx, p.from, name)
	if err != nil {
		return nil, usage(within("--from", err))
	}
	return &database{t, name[len(name)-1]}, nil
}

// database is a table that an engine sums.
type database struct {
	engine
	table string
}

// engine is a table of postgres or duckdb.
type engine interface {
	Header() []string
	Sum(ctx context.Context, q *pushdown.Query) (*ssp.Statistics, error)
	Close()
	String() string
}

func (d *database) header(*releaseFlags) (*schema.Schema, error) {
	columns, err := schema.FromHeader(d.Header())
	if err != nil {
		return nil, usagef("%s: %w", d, err)
	}
	return columns, nil
}

func (d *database) sum(ctx context.Context, q *pushdown.Query) (*ssp.Statistics, error) {
	return d.Sum(ctx, q)
}

func (d *database) name() string { return d.table }
func (d *database) close()       { d.Close() }

// aggregatesFile is the result of a query that somebody else put.
type aggregatesFile string

func (path aggregatesFile) header(f *releaseFlags) (*schema.Schema, error) {
	return f.publicColumns(string(path))
}

func (path aggregatesFile) sum(_ context.Context, q *pushdown.Query) (*ssp.Statistics, error) {
	file, err := os.Open(string(path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	a, err := pushdown.ReadAggregates(file, string(path))
	if err != nil {
		return nil, err
	}
	return q.Statistics(a, string(path))
}

func (path aggregatesFile) name() string   { return string(path) }
func (path aggregatesFile) String() string { return string(path) }
func (aggregatesFile) close()              {}

// publicColumns gives the columns of the schema file and, after them, those that only
// --bounds names, where there is nothing else to ask.
func (f *releaseFlags) publicColumns(data string) (*schema.Schema, error) {
	described, _, err := f.described(data)
	if err != nil {
		return nil, err
	}
	bounds, err := schema.ParseBounds(f.bounds...)
	if err != nil {
		return nil, usage(fmt.Errorf("--%w", err))
	}
	var names []string
	if described != nil {
		for _, c := range described.Columns {
			names = append(names, c.Name)
		}
	}
	for _, c := range bounds {
		if described == nil || described.Index(c.Name) < 0 {
			names = append(names, c.Name)
		}
	}
	if names == nil {
		return nil, usagef("there are no columns: say which, and within which public bounds, by --schema FILE or --bounds NAME=LOWER:UPPER")
	}
	columns, err := schema.FromHeader(names)
	return columns, usage(err)
}

// locate takes what the rows are called from the arguments; or opens what sums them for the
// release f, which then closes it.
func (p *remoteFlags) locate(ctx context.Context, stderr io.Writer, f *releaseFlags, args []string, path string) (data string, err error) {
	if f.done = ctx.Done(); !p.given() {
		return args[0], nil
	}
	_, share, err := splitBounds(f.bounds)
	switch {
	case err != nil:
		return "", err
	case share != 0:
		return "", usagef("--bounds auto looks at the rows, which --from and --aggregates leave where they are: give public bounds")
	case f.moments:
		return "", usagef("--with-moments needs the rows, which --from and --aggregates leave where they are")
	}
	if err := (inputs{p.aggregates}).spare(path); err != nil {
		return "", err
	}
	if f.remote, err = p.open(ctx, stderr); err != nil {
		return "", err
	}
	return f.remote.name(), nil
}

// close closes what locate opened.
func (f *releaseFlags) close() {
	if f.remote != nil {
		f.remote.close()
	}
}

// checkBoundedRemote refuses columns without bounds.
func checkBoundedRemote(columns []schema.Column) error {
	var names []string
	for _, c := range columns {
		if c.Type == "" && !c.Bounded() {
			names = append(names, c.Name)
		}
	}
	if names == nil {
		return nil
	}
	return refusef("no bounds for %s: give them by --bounds NAME=LOWER:UPPER or in a schema file (--schema; dpreg schema --help), "+
		"from public knowledge, or use fewer columns, by --formula; bounds read off the data would break the guarantee", schema.Listed(names))
}

const sqlHelp = `Write the one query by which a database sums its own rows, for engines that dpreg
does not speak with. The query clamps, scales and rounds every cell, and sums
products of integers: its result, one row of texts, is to the bit what dpreg sums
of the same rows in a file. Save it in JSON, and make the release of it:

  dpreg sql --dialect duckdb --table people --schema people.schema.json > people.sql
  duckdb -json people.duckdb "$(cat people.sql)" > people.json
  dpreg release --eps 1 --aggregates people.json --schema people.schema.json

The result is exact and without noise: AS SENSITIVE AS THE ROWS. Keep it where the
rows may be kept, and remove it once the release is made. The query itself is public.

Columns and bounds come from --schema or --bounds, and must be the same in both
commands, as must --formula, --missing and --na; a result of another query is
refused. Names of tables and columns are taken exactly as they are given, capitals
and all. docs/databases.md has a command for each engine, and which were tried.`

func newSQL() *cobra.Command {
	var flags releaseFlags
	var dialect, name string
	cmd := &cobra.Command{
		Use:   "sql --dialect NAME --table NAME --schema FILE",
		Short: "Write the query by which a database sums its rows for a release",
		Long:  sqlHelp,
		Example: `  dpreg sql --dialect snowflake --table DB.PUBLIC.PEOPLE --schema people.schema.json
  dpreg sql --dialect spark --table people --bounds age=0:100,income=0:500000`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("sql reads no data, and takes no file but by a flag: %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.writeSQL(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), dialect, name)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&dialect, "dialect", "", "`NAME` of the engine's SQL: "+strings.Join(pushdown.Dialects(), ", "))
	fs.StringVar(&name, "table", "", "`NAME` of the table or view, up to three parts between dots, exactly as the database has it")
	fs.StringArrayVar(&flags.bounds, "bounds", nil, "public bounds of a column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file")
	fs.StringVar(&flags.schema, "schema", "", "Frictionless Table Schema `FILE` with columns, bounds and levels (default: table.schema.json, if it is there)")
	fs.StringVar(&flags.formula, "formula", "", formulaUsage+"default: the last column on all others")
	flags.registerCells(cmd)
	oneOf(cmd, "dialect", pushdown.Dialects()...)
	return cmd
}

func (f *releaseFlags) writeSQL(ctx context.Context, stdout, stderr io.Writer, dialect, name string) error {
	d, err := pushdown.DialectOf(dialect)
	if err != nil {
		return usagef("--dialect: %w", err)
	}
	at, err := pushdown.ParseTable(name)
	if err != nil {
		return usagef("--table: %w", err)
	}
	cells, err := f.cells(false)
	if err != nil {
		return err
	}
	data := at[len(at)-1]
	f.remote = aggregatesFile(data) // the columns are known as they will be to release --aggregates
	if _, share, err := splitBounds(f.bounds); err != nil || share != 0 {
		return usagef("--bounds auto looks at the rows: give public bounds")
	}
	design, _, err := f.design(stderr, data)
	if err != nil {
		return err
	}
	q, err := pushdown.New(design, cells)
	if err != nil {
		return usage(err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	noteMissing(stderr, cells)
	note(stderr, "the result of this query is as sensitive as the rows; the release of it is made by dpreg release --aggregates")
	_, err = io.WriteString(stdout, q.SQL(d, at))
	return err
}
