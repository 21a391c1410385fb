package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/report"
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
