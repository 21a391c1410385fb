package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/calibration/compare"
	"github.com/dpreg/dpreg/report"
)

const compareHelp = `Put many methods to the same data at the same budget, and say how near each comes to
the posterior without privacy, whether its intervals hold what they should, what it
costs and how long it takes.

Given a table, each trial infers from random rows of it and predicts the others, the
same ones for all methods: coverage of predictive intervals and log scores. Without a
table, rows and their true coefficients are simulated (--n, --p): width and coverage
of intervals of the coefficients.

  non-private       the posterior given the rows: what privacy costs is seen against it
  naive             takes the noisy sums for exact ones
  gibbs-ss-*, mcmc-*  infer from the same release, and account for its noise
  dp-vi             variational inference on rows (dpreg vi)
  dp-pvi            variational inference by --clients, each protecting its own rows
  adassp            AdaSSP, a point estimate: it has no intervals

Each method has its own documented settings, none chosen by looking at the rows
(docs/compare.md). A method that cannot serve says why, and the others go on.

This is a study. Its noise is simulated from --seed, and what it prints of a table was
computed from the rows without any mechanism: NOTHING OF IT IS PRIVATE. It is for those
who may see the rows, who say so by --i-hold-the-data.

With --save DIR every finished trial is kept: a study that was stopped goes on by the
same command. DIR then holds study.json, journal, results.csv, summary.csv,
summary.json and timing.csv. Shards, by --shard, are put together by dpreg compare merge.
Results do not depend on cores, shards or interruptions.`

func newCompare() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare --eps LIST (DATA.csv | --n LIST)",
		Short: "Many methods on the same data at the same budget",
		Long:  compareHelp,
		Example: `  dpreg compare --eps 1 --delta 1e-6 --formula 'income ~ age + educ' --i-hold-the-data pums.csv
  dpreg compare --n 1000,10000 --p 2 --eps 0.3,1,3 --delta 1e-6 --save study --plot study.svg
  dpreg compare --n 1000 --eps 1 --method naive,mcmc-exact --trials 100
  dpreg compare merge --save whole part1 part2`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("compare takes one table, and %d were given (is a quotation mark missing around a formula?)", len(args))
			}
			return nil
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		data := ""
		if len(args) > 0 {
			data = args[0]
		}
		return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), cmd, data)
	}
	f.register(cmd)
	cmd.AddCommand(newCompareMerge())
	return cmd
}

func (f *compareFlags) run(ctx context.Context, stdout, stderr io.Writer, cmd *cobra.Command, data string) error {
	if err := f.comparisonOutput.check(); err != nil {
		return err
	}
	if f.shard != "" && f.plot != "" {
		return usagef("a shard has no result yet: give --plot to `dpreg compare merge`")
	}
	shard, err := parseShard(f.shard, f.save)
	if err != nil {
		return err
	}
	d, rows, err := f.design(stderr, cmd, data)
	if err != nil {
		return err
	}
	study, err := d.Study(rows)
	if err != nil {
		return usage(err)
	}
	if err := f.writable(inputs{data, sidecar(data), f.schema}); err != nil {
		return err
	}
	if f.prepare {
		return prepareStudy(stderr, "compare", f.save, modeOf(d.Table != nil), study)
	}
	trials, err := finishStudy(ctx, stderr, "compare", f.save, modeOf(d.Table != nil), study, calibration.Options{Shard: shard, Workers: f.jobs})
	if err != nil || shard.Count > 1 {
		return err
	}
	return f.conclude(stdout, stderr, d, study, trials)
}

// comparisonOutput is what is made of a comparison that is finished.
type comparisonOutput struct{ save, format, plot string }

func (f *comparisonOutput) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.save, "save", "o", "", "keep the study in this `DIR`, so that it can go on, and write its results there")
	fs.StringVar(&f.plot, "plot", "", "draw the results into this `FILE` (.svg, .png)")
	fs.StringVar(&f.format, "format", "table", "`NAME` of the format on stdout: table, json or csv")
	oneOf(cmd, "format", "table", "json", "csv")
}

func (f *comparisonOutput) check() error {
	if err := checkPlotFile(f.plot); err != nil {
		return err
	}
	return choose("format", f.format, []string{"table", "json", "csv"})
}

func (f *comparisonOutput) writable(keep inputs) error {
	if f.plot == "" {
		return nil
	}
	return within("--plot", keep.spare(f.plot))
}

// conclude prints the result, saves and draws it where that was asked for, and says
// whether the samplers did what they were to do.
func (f *comparisonOutput) conclude(stdout, stderr io.Writer, d *compare.Design, study *calibration.Study, trials []*calibration.Trial) error {
	summary := d.Summarise(study, trials)
	failed := func(t *calibration.Trial) bool { return t.Error != "" }
	times := study.Runtimes(slices.DeleteFunc(slices.Clone(trials), failed))
	if f.save != "" {
		err := writeStudy(f.save, modeOf(d.Table != nil), func(w io.Writer) error { return compare.WriteTrials(w, study, trials) },
			func(w io.Writer) error { return study.WriteTiming(w, trials) }, summary.WriteCSV, summary.WriteJSON)
		if err != nil {
			return err
		}
		note(stderr, "results written to %s", f.save)
	}
	if f.plot != "" {
		if err := f.draw(modeOf(d.Table != nil), summary, times); err != nil {
			return err
		}
		note(stderr, "picture written to %s", f.plot)
	}
	if err := f.print(stdout, summary, times); err != nil {
		return err
	}
	for i := range summary.Cells {
		if !summary.Cells[i].Sound(summary.Trials) {
			return &exitError{unconverged, fmt.Errorf("more than 1 %% of the trials of a method failed or met the sampler's limit")}
		}
	}
	return nil
}

func (f *comparisonOutput) draw(mode fs.FileMode, s *compare.Summary, times []calibration.Runtime) error {
	figure, err := report.ComparisonPlot(s, times)
	if err != nil {
		return err
	}
	return writeFile(f.plot, mode, func(w io.Writer) error { return figure.Write(w, plotFormat(f.plot)) })
}

func (f *comparisonOutput) print(stdout io.Writer, s *compare.Summary, times []calibration.Runtime) error {
	out := bufio.NewWriter(stdout)
	var err error
	switch f.format {
	case "json":
		err = s.WriteJSON(out)
	case "csv":
		err = s.WriteCSV(out)
	default:
		err = report.Comparison(out, s, times)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// readComparison reads the design of the comparison in a directory.
func readComparison(dir string) (*compare.Design, error) {
	text, err := os.ReadFile(designOf(dir))
	if err != nil {
		return nil, err
	}
	d, err := compare.ReadDesign(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", designOf(dir), err)
	}
	return d, nil
}
