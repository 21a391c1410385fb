package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

const releaseHelp = `Make a release: the sums of x, y and their products over all rows, with noise from
the operating system's randomness. It is ε-differentially private for data sets
that differ in one row, and the one file that may leave your hands.

The noise is Laplace. With --delta, (ε, δ)-differential privacy is asked for, and
Gaussian noise may do: with more than a few columns it is the smaller. δ is the
probability, about, with which ε may fail; take it far below 1/n.

Each column needs public bounds (see dpreg schema); values outside are clamped.
Where nobody knows any, --bounds auto finds some in the rows, privately and for a
share of ε, if there are rows enough (docs/bounds-auto.md).
The last column is the response unless --formula says otherwise, but a release
answers every model on its columns: any of them as the response, any others as
covariates (dpreg infer --formula), at no further cost. So release once, with all
the columns that will be wanted.

With --with-moments it holds moments of the covariates as well, for the method
gibbs-ss-noisy; all its noise is larger then.

A release that exists is not overwritten, since its ε was spent: exit 3, unless
--spend-again is given.`

func newRelease() *cobra.Command {
	var flags releaseFlags
	var place remoteFlags
	var output string
	cmd := &cobra.Command{
		Use:   "release --eps NUMBER DATA.csv",
		Short: "Make a differentially private release of a table: spends ε",
		Long:  releaseHelp + "\n\n" + rowsHelp + "\n\n" + remoteHelp,
		Example: `  dpreg release --eps 1 pums.csv
  dpreg release --eps 1 --delta 1e-6 pums.csv
  dpreg release --eps 1 shards/
  zcat pums.csv.gz | dpreg release --eps 1 --schema pums.schema.json -o pums.release.json -
  dpreg release --eps 1 --from postgres://reader@db/clinic --table people --schema people.schema.json
  dpreg release --eps 0.5 --bounds age=0:100,income=0:500000 --formula 'income ~ age' pums.csv -o age.release.json`,
		Args: place.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := place.locate(cmd.Context(), cmd.ErrOrStderr(), &flags, args, output)
			if err != nil {
				return err
			}
			defer flags.close()
			return flags.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), data, output)
		},
	}
	flags.register(cmd)
	place.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the release to this `FILE` (default: data.release.json beside data.csv)")
	return cmd
}

func (f *releaseFlags) run(ctx context.Context, stdout, stderr io.Writer, data, path string) error {
	order, err := f.order(stderr, data, path)
	if err != nil {
		return err
	}
	order.Check = func(rows int64) error {
		foretell(stderr, order, rows)
		return nil
	}
	noteMissing(stderr, order.Cells)
	r, err := order.Publish(ctx)
	if err != nil {
		return err
	}
	if err := report.Statement(stdout, r); err != nil {
		return err
	}
	note(stderr, "next: dpreg infer %s", shellWord(order.Path))
	return nil
}

// releaseFlags are the flags of what spends ε: release and fit.
type releaseFlags struct {
	epsilon, delta, mechanism, neighbours, missing string

	bounds, na      []string
	rows            int64
	schema, formula string
	ledger          string
	spendAgain      bool
	moments         bool

	done   <-chan struct{} // closed once the run is interrupted
	source *table.Source   // of the rows, once the columns are known
	names  bool            // the columns' names can be shown: they are known not to be a row
	remote remote          // not nil: sums the rows in place of source
}

const formulaUsage = "`FORMULA` such as 'y ~ x1 + x2', 'y ~ .' or 'y ~ x - 1'; "

func (f *releaseFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.epsilon, "eps", "", "privacy budget ε, a `NUMBER` above 0: smaller is more private and noisier")
	fs.StringArrayVar(&f.bounds, "bounds", nil, "public bounds of a column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file; or auto[=SHARE]: columns without get bounds found in the rows, for a share of ε (0.1)")
	fs.Int64Var(&f.rows, "rows", 0, "about how many rows there are, a public `NUMBER`: for --bounds auto with --neighbours add-remove")
	fs.StringVar(&f.schema, "schema", "", "Frictionless Table Schema `FILE` with the bounds (default: data.schema.json beside data.csv)")
	fs.StringVar(&f.formula, "formula", "", formulaUsage+"default: the last column on all others")
	fs.StringVar(&f.delta, "delta", "", "δ, a `NUMBER` far below 1/n, such as 1e-6: allows Gaussian noise (default: none, pure ε)")
	fs.StringVar(&f.mechanism, "mechanism", string(ssp.Auto), "`NAME` of the law of the noise: laplace, gaussian (needs --delta), or auto, the smaller one")
	fs.StringVar(&f.neighbours, "neighbours", string(release.ReplaceOne), "`NAME`: which data sets must not be told apart: replace-one, with n public, or add-remove, with n noised")
	f.registerCells(cmd)
	fs.BoolVar(&f.moments, "with-moments", false, "release moments of the covariates of degree up to 4 as well, for --method gibbs-ss-noisy: at most 3 covariates, and more noise on all")
	fs.BoolVar(&f.spendAgain, "spend-again", false, "overwrite a release that exists: its ε stays spent, and that of the new one adds to it")
	fs.StringVar(&f.ledger, "ledger", "", "charge what is spent to this `FILE` (dpreg ledger init), and refuse what it has no room for")
	oneOf(cmd, "neighbours", string(release.ReplaceOne), string(release.AddRemove))
	oneOf(cmd, "mechanism", string(ssp.Auto), string(release.Laplace), string(release.Gaussian))
}

// privacy is what is promised.
func (f *releaseFlags) privacy() (release.Privacy, error) {
	return custody.ParsePrivacy(f.epsilon, f.delta, f.neighbours)
}

func (f *releaseFlags) parseNeighbours() (release.Neighbours, error) {
	return custody.ParseNeighbours(f.neighbours)
}

func (f *releaseFlags) parseEpsilon() (float64, error) { return custody.ParseEpsilon(f.epsilon) }

// parseDelta gives δ, 0 where there is no --delta.
func (f *releaseFlags) parseDelta() (float64, error) { return custody.ParseDelta(f.delta) }

// registerCells registers the flags on how cells are read.
func (f *releaseFlags) registerCells(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.missing, "missing", string(table.MissingError), "`NAME`: what to do about missing cells: error, midpoint (the middle of the public bounds), or drop the row (needs add-remove neighbours)")
	fs.StringArrayVar(&f.na, "na", nil, "`TEXT` of a cell that means missing; repeatable (default: NA; an empty cell always does)")
	oneOf(cmd, "missing", string(table.MissingError), string(table.Midpoint), string(table.Drop))
}

// cells turns the flags into options of the table. Rows may be left out where their
// number is not public: under add-remove neighbours, or where nothing is released.
func (f *releaseFlags) cells(released bool) (table.Options, error) {
	neighbours := release.Neighbours(f.neighbours)
	if !released {
		neighbours = release.AddRemove
	}
	o, err := custody.Cells(table.Options{Missing: table.Missing(strings.ToLower(f.missing)), NA: f.na}, neighbours)
	o.Empty = o.Empty && released
	return o, err
}

// noteMissing says what becomes of missing cells. That there were any, and how many,
// it must not say: it is computed from the rows.
func noteMissing(stderr io.Writer, o table.Options) {
	switch o.Missing {
	case table.Midpoint:
		note(stderr, "--missing midpoint: a missing cell counts as the middle of its public bounds, which biases slopes, as a rule towards 0 (docs/factors.md)")
	case table.Drop:
		note(stderr, "--missing drop: a row with a missing cell is left out (docs/factors.md)")
	}
}

// order is what the flags ask for.
func (f *releaseFlags) order(stderr io.Writer, data, path string) (*custody.Settled, error) {
	o := custody.Order{
		Mechanism:   release.Kind(strings.ToLower(f.mechanism)),
		WithMoments: f.moments,
		Path:        path,
		SpendAgain:  f.spendAgain,
		Ledger:      f.ledger,
		Say:         sayTo(stderr),
	}
	var err error
	if o.Privacy, err = f.privacy(); err != nil {
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
