package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/beam/sums"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
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

// order is a release that is asked for.
type order struct {
	paths   []string // of the shards
	output  string
	design  *schema.Design
	privacy release.Privacy
	noise   release.Kind
	stated  release.Noise
	cells   table.Options
	ledger  string
}

func (f *releaseFlags) run(cmd *cobra.Command, data string) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	o, err := f.order(ctx, data)
	if err != nil {
		return err
	}
	if err := o.free(); err != nil {
		return err
	}
	paid, err := o.payment(ctx, stderr)
	if err != nil {
		return err
	}
	defer paid.finish(ctx, stderr)
	statistics, err := f.sum(cmd, o)
	if err != nil {
		return err
	}
	r, err := o.publish(ctx, stderr, statistics, paid)
	if err != nil {
		return err
	}
	return report.Statement(cmd.OutOrStdout(), r)
}

// sum has the rows summed, of files that must stay as they are meanwhile: rows that change
// would make a release of no data set at all.
func (f *releaseFlags) sum(cmd *cobra.Command, o *order) (*ssp.Statistics, error) {
	ctx := cmd.Context()
	before, err := sums.StatesOf(ctx, o.paths)
	if err != nil {
		return nil, usage(err)
	}
	engine, dir, remove, err := f.launch(cmd.ErrOrStderr(), cmd)
	if err != nil {
		return nil, err
	}
	defer remove()
	statistics, err := sums.Sum(ctx, engine, dir, o.paths, o.cells, o.design)
	var wrong *table.Error
	switch {
	case errors.As(err, &wrong):
		return nil, usage(table.Offer(err))
	case err != nil:
		return nil, err
	}
	after, err := sums.StatesOf(ctx, o.paths)
	if err != nil || !before.Same(after) {
		return nil, usagef("the files changed while they were read: nothing was made of them; run this again when they are complete")
	}
	return statistics, nil
}

// publish spends ε: it draws the noise, here and once, and writes the release.
func (o *order) publish(ctx context.Context, stderr io.Writer, s *ssp.Statistics, paid *payment) (*release.Release, error) {
	if s.N < 1 && o.privacy.Neighbours != release.AddRemove {
		return nil, usagef("there are no rows: nothing can be released")
	}
	if err := paid.pay(ctx, stderr); err != nil {
		return nil, err
	}
	r, err := ssp.Publish(ctx, s, o.design, o.privacy, o.noise, ssp.Exact, mechanisms.OS())
	if err != nil {
		return nil, fmt.Errorf("no release was made: %w", err)
	}
	if err := r.WriteNewFile(o.output); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, refusef("another run wrote %s while this one read the rows: this one made no release and showed nobody its noise", o.output)
		}
		return nil, err
	}
	paid.written = true
	note(stderr, "release written to %s: it spent ε = %v, δ = %v (%s)", o.output, r.Privacy.Epsilon, r.Privacy.Delta, r.Privacy.Neighbours)
	return r, nil
}

// free refuses, before anything is read, a place for the release that is taken.
func (o *order) free() error {
	if _, err := os.Lstat(o.output); !errors.Is(err, fs.ErrNotExist) {
		return refusef("%s is there already, and if it is a release of these rows, its ε was spent: choose another name (-o)", o.output)
	}
	left, err := release.Leftovers(o.output)
	switch {
	case err != nil:
		return usage(err)
	case left != nil:
		return refusef("%s was left by a run that was killed while it wrote, or another run writes it now: a release of which nobody knows may have been read. Use it, or remove it, before another one spends ε again", left[0])
	}
	probe, err := os.CreateTemp(filepath.Dir(o.output), ".dpreg-beam-*.tmp")
	if err != nil {
		return usagef("cannot write to %s: %w", o.output, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
