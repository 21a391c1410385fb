package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/beam/sums"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

const releaseHelp = `Make a release of a table in many files, summed by an engine. Rows do not leave the
workers that read them, and no noise is drawn there: the exact sums come back
here, where noise is drawn, as by dpreg release; each look is two jobs. A file is the unit of
work: have at least as many as the workers have processors.

DATA is a directory, a quoted pattern or a file, as for dpreg release, under a path
that all workers know; or a URL with a pattern, 'gs://bucket/rows/part-*.csv.gz'.

A release that exists is never overwritten.`

func newRelease() *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{
		Use:   "release --eps NUMBER DATA -o FILE",
		Short: "Make a release of a table in many files: spends ε",
		Long:  releaseHelp,
		Example: `  dpreg-beam release --eps 1 --schema people.schema.json -o people.release.json shards/
  dpreg-beam release --eps 1 --bounds age=0:100 --bounds income=0:500000 --endpoint localhost:8073 -o r.json shards/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0])
		},
	}
	f.register(cmd)
	return cmd
}

// releaseFlags are those of dpreg release that need nothing but sums, by the same names.
type releaseFlags struct {
	epsilon, delta, mechanism, neighbours, steps, missing string
	rows                                                  int64

	bounds, na              []string
	schema, formula, ledger string
	badCell                 string
	person, personRows      string
	noLedger                bool
	output                  string
	engineFlags
}

func (f *releaseFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.epsilon, "eps", "", "privacy budget ε, a `NUMBER` above 0")
	fs.StringVar(&f.delta, "delta", "", "δ, a `NUMBER` far below 1/n: allows Gaussian noise (default: none, pure ε)")
	fs.StringVar(&f.mechanism, "mechanism", string(ssp.Auto), "`NAME` of the law of the noise: laplace, gaussian or auto, the smaller one")
	fs.StringVar(&f.neighbours, "neighbours", string(release.ReplaceOne), "`NAME`: replace-one, with n public, or add-remove, with n noised")
	fs.StringVar(&f.steps, "steps", "auto", "`NUMBER` of looks at the rows; auto: several where rows are enough to be found; 1: the bounds alone")
	fs.Int64Var(&f.rows, "rows", 0, "about how many rows there are, a public `NUMBER`: with --neighbours add-remove, for --steps")
	fs.StringArrayVar(&f.bounds, "bounds", nil, "public bounds of a column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file")
	fs.StringVar(&f.schema, "schema", "", "Frictionless Table Schema `FILE` with the bounds (default: data.schema.json beside the directory or file data)")
	fs.StringVar(&f.formula, "formula", "", "`FORMULA` such as 'y ~ x1 + x2'; default: the last column on all others")
	fs.StringVar(&f.missing, "missing", string(table.MissingError), "`NAME`: what to do about missing cells: error, midpoint, or drop the row (needs add-remove neighbours)")
	fs.StringVar(&f.person, "person", "", "`COLUMN` that says whose a row is: neighbours differ in a person, with all rows of theirs")
	fs.StringVar(&f.personRows, "person-rows", "", "what a person's rows become: mean, weight, or a `NUMBER` of them")
	fs.StringVar(&f.badCell, "on-bad-cell", string(table.BadError), "`NAME`: what to do about a cell that is no number, truth value or level as its column wants: error, or missing")
	fs.StringArrayVar(&f.na, "na", nil, "`TEXT` of a cell that means missing; repeatable (default: NA; an empty cell always does)")
	fs.StringVar(&f.ledger, "ledger", "", "charge what is spent to this `FILE` (dpreg ledger init), and refuse what it has no room for (default: data.ledger.db beside the directory or file data, which is made)")
	fs.BoolVar(&f.noLedger, "no-ledger", false, "charge no ledger: nobody counts what is spent")
	fs.StringVarP(&f.output, "output", "o", "", "write the release to this `FILE`, which must not exist")
	f.engineFlags.register(cmd)
}

// order is what the flags ask for.
func (f *releaseFlags) order(cmd *cobra.Command, c *cluster, data string) (o custody.Order, err error) {
	o = custody.Order{
		Mechanism: release.Kind(f.mechanism),
		Path:      f.output,
		Ledger:    f.ledger,
		NoLedger:  f.noLedger,
		Say:       func(text string) { note(cmd.ErrOrStderr(), "%s", text) },
	}
	if local := !job.Remote(data); local && o.Ledger == "" && !o.NoLedger && !strings.ContainsAny(data, "*?[") {
		o.Ledger, o.MakeLedger = table.Stem(strings.TrimSuffix(data, "/"))+".ledger.db", true
	}
	if o.Persons, err = custody.ParsePersons(f.person, f.personRows); err != nil {
		return o, err
	}
	if o.Path == "" {
		return o, custody.Misusef("say where the release is to go: -o FILE")
	}
	if o.Privacy, err = custody.ParsePrivacy(f.epsilon, f.delta, f.neighbours); err != nil {
		return o, err
	}
	if o.Cells, err = custody.Cells(table.Options{Missing: table.Missing(f.missing), BadCell: table.BadCell(f.badCell), NA: f.na}, o.Privacy.Neighbours); err != nil {
		return o, err
	}
	if o.Steps, err = custody.ParseSteps(f.steps); err != nil {
		return o, err
	}
	o.StatedRows = f.rows
	paths, err := sums.Find(cmd.Context(), data)
	if err != nil {
		return o, custody.Misuse(err)
	}
	rows := &shards{cluster: c, paths: paths}
	o.Rows = custody.Elsewhere{Name: data, Gather: rows.gather, Persons: rows.persons}
	o.Design, err = f.design(cmd.Context(), data, paths[0], o.Say)
	return o, err
}

// design gives the columns of the formula with their public bounds, in the order in which
// the first file has them: those of the schema file, if there is one, and of --bounds.
func (f *releaseFlags) design(ctx context.Context, data, first string, say func(string)) (*schema.Design, error) {
	bounds, err := schema.ParseBounds(f.bounds...)
	if err != nil {
		return nil, custody.Misusef("--%w", err)
	}
	described, from, err := custody.ReadSchema(f.schema, table.Stem(strings.TrimSuffix(data, "/"))+".schema.json")
	if err != nil {
		return nil, err
	}
	if described == nil && bounds == nil { // else a message would list names that may be a row
		return nil, custody.Misusef("no bounds of any column: give them by --bounds NAME=LOWER:UPPER, or by --schema FILE (dpreg schema writes a template)")
	}
	known := schema.Known(described, bounds, f.formula)
	if f.person != "" {
		known = append(known, f.person)
	}
	names, err := sums.Header(ctx, first, known...)
	if err != nil {
		return nil, custody.Misuse(err)
	}
	all, described, err := custody.Named(names, f.person, described, first)
	if err != nil {
		return nil, err
	}
	if all, err = custody.Columns(all, described, bounds, first, from, say); err != nil {
		return nil, err
	}
	d, err := all.Design(f.formula)
	return d, custody.Misuse(err)
}

func (f *releaseFlags) run(cmd *cobra.Command, data string) error {
	c, err := f.launch(cmd)
	if err != nil {
		return err
	}
	defer c.end()
	o, err := f.order(cmd, c, data)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(f.output); !errors.Is(err, fs.ErrNotExist) {
		return custody.Refusef("%s is there already, and if it is a release of these rows, its ε was spent: choose another name (-o)", f.output)
	}
	r, err := custody.Publish(cmd.Context(), o)
	if err != nil {
		return err
	}
	return report.Statement(cmd.OutOrStdout(), r)
}

// shards are files that a cluster reads, all at once, as often as it takes.
type shards struct {
	*cluster
	paths  []string
	before []string // states of the files; nil before the first pass
}

// gather has a job make a pass.
func (s *shards) gather(ctx context.Context, d *schema.Design, cells table.Options, pass ssp.Pass) (all ssp.Summand, err error) {
	err = s.work(ctx, func(dir job.Dir) error {
		all, err = sums.Sum(ctx, s.Engine, dir, s.paths, cells, d, pass)
		return err
	})
	return all, err
}

// persons has a job make a pass over what persons' rows become.
func (s *shards) persons(ctx context.Context, d *schema.Design, cells table.Options, how persons.Grouping, pass ssp.Pass) (all ssp.Summand, told persons.Told, err error) {
	err = s.work(ctx, func(dir job.Dir) error {
		all, told, err = sums.Persons(ctx, s.Engine, dir, s.paths, cells, d, how, pass)
		return err
	})
	return all, told, err
}

// work lets do read the files, which must stay as they are.
func (s *shards) work(ctx context.Context, do func(dir job.Dir) error) error {
	if err := s.unchanged(ctx); err != nil {
		return err
	}
	err := s.meet(do)
	var wrong *table.Error
	switch {
	case errors.As(err, &wrong):
		return custody.Misuse(table.Options{}.Offer(err))
	case err != nil:
		return err
	}
	return s.unchanged(ctx)
}

// unchanged refuses files that did not stay as they were before the first pass: rows that change
// would make a release of no data set at all.
func (s *shards) unchanged(ctx context.Context) error {
	now, err := sums.States(ctx, s.paths)
	if s.before == nil {
		s.before = now
	}
	if err == nil && !slices.Equal(s.before, now) {
		err = errors.New("the files changed while they were read: nothing was made of them; run this again when they are complete")
	}
	return custody.Misuse(err)
}
