package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/beam/sums"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

const releaseHelp = `Make a release of a table in many files, summed by an engine. Rows do not leave the
workers that read them, and no noise is drawn there: the exact sums come back
here, where noise is drawn once, as by dpreg release. A file is the unit of
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

func (f *releaseFlags) run(cmd *cobra.Command, data string) error {
	o, err := f.order(cmd, data)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(f.output); !errors.Is(err, fs.ErrNotExist) {
		return refusef("%s is there already, and if it is a release of these rows, its ε was spent: choose another name (-o)", f.output)
	}
	r, err := custody.Publish(cmd.Context(), o)
	if err != nil {
		return err
	}
	return report.Statement(cmd.OutOrStdout(), r)
}

// sum has the rows summed, of files that must stay as they are meanwhile: rows that change
// would make a release of no data set at all.
func (f *releaseFlags) sum(cmd *cobra.Command, paths []string, d *schema.Design, cells table.Options) (*ssp.Statistics, error) {
	ctx := cmd.Context()
	before, err := sums.StatesOf(ctx, paths)
	if err != nil {
		return nil, usage(err)
	}
	engine, dir, remove, err := f.launch(cmd.ErrOrStderr(), cmd)
	if err != nil {
		return nil, err
	}
	defer remove()
	statistics, err := sums.Sum(ctx, engine, dir, paths, cells, d)
	var wrong *table.Error
	switch {
	case errors.As(err, &wrong):
		return nil, usage(table.Offer(err))
	case err != nil:
		return nil, err
	}
	after, err := sums.StatesOf(ctx, paths)
	if err != nil || !before.Same(after) {
		return nil, usagef("the files changed while they were read: nothing was made of them; run this again when they are complete")
	}
	return statistics, nil
}
