package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/report"
)

const calibrateHelp = `Ask whether a method is right, at this n and ε: draw parameters from the prior,
rows from the parameters, noise, and a posterior; look where in it the truth lies.
If and only if posteriors are right, its rank is uniform, and 90 % intervals hold it
in 90 % of the trials.

--preset fig3 and fig4 are the studies of Figures 3 and 4 of Bernstein & Sheldon
(2019); any flag changes a part of them. A study of one's own takes --n and --eps.
Every combination of --n, --eps, --p, --method, --kernel and --sensitivity is a cell
of the table.

--data unclamped: rows as the model has them, even outside the bounds, as in the
paper: ranks have to be uniform. --data clamped: rows as a release has them; what
clamping costs shows in the coverage. --x: covariates that are not normal.

The prior is "box", conjugate and for columns that fill their bounds, with what
--prior states in its place. The default prior of infer depends on the release:
--population tests it.

--population FILE: truths that the prior has no part in. Rows are drawn with
replacement from those of a table, coded and clamped as a release's, and the truth is
least squares on all of them. Coverage of the coefficients stands beside that of least
squares on the same rows without noise. What comes of it was computed from the rows
without any mechanism: NOTHING OF IT IS PRIVATE. It is for those who may see the rows,
who say so by --i-hold-the-data.

With --save DIR every finished trial is kept: stopped in whatever way and started
again by the same command, or by --save DIR alone, a study goes on. DIR then holds
study.json, journal, results.csv, summary.csv, summary.json and timing.csv. Shards
of a study, by --shard, run on several machines: dpreg calibrate merge puts them
together. Results do not depend on cores, shards or interruptions. --report writes
all of a result as one page.

Methods exact and gibbs run until --ess; the kernel plain of gibbs-ss- runs as the
paper's code does, 5000 + 2000 sweeps of one chain, unless --warmup, --draws or
--ess is given.`

func newCalibrate() *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate (--preset NAME | --n N --eps EPS [--population FILE])",
		Short: "Ask whether a method's posteriors are right, by simulation",
		Long:  calibrateHelp,
		Example: `  dpreg calibrate --n 200 --eps 0.5 --trials 100
  dpreg calibrate --preset fig3 --save fig3 --plots
  dpreg calibrate --preset fig3 --kernel plain --save plain
  dpreg calibrate --n 1000 --eps 1 --p 3 --data clamped --x binary --save binary
  dpreg calibrate --population pums.csv --formula 'income ~ educ' --n 1000 --eps 0.3,1,3 --save pums --i-hold-the-data
  dpreg calibrate --preset fig3 --save part1 --shard 1/2
  dpreg calibrate merge --save whole part1 part2`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("calibrate takes no file but by a flag: %q (is a blank in a list?)", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), cmd)
		},
	}
	f.register(cmd)
	cmd.AddCommand(newCalibrateMerge())
	return cmd
}

func (f *calibrateFlags) run(ctx context.Context, stdout, stderr io.Writer, cmd *cobra.Command) error {
	d, rows, err := f.design(stderr, cmd)
	if err != nil {
		return err
	}
	study, err := d.Study(rows)
	if err != nil {
		return usage(err)
	}
	shard, err := f.parseShard()
	if err != nil {
		return err
	}
	if err := f.writable(inputs{f.schema, f.prior, f.population, sidecar(f.population)}); err != nil {
		return err
	}
	if f.prepare {
		return prepareStudy(stderr, "calibrate", f.save, modeOf(d.Population != nil), study)
	}
	trials, err := finishStudy(ctx, stderr, "calibrate", f.save, modeOf(d.Population != nil), study, calibration.Options{Shard: shard})
	if err != nil || shard.Count > 1 {
		return err
	}
	return f.studyOutput.conclude(stdout, stderr, modeOf(d.Population != nil), study, trials)
}

// studyOutput is what is made of a study that is finished.
type studyOutput struct {
	save, format string
	plots        bool
	pageFlag
}

func (f *studyOutput) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.save, "save", "", "keep the study in this `DIR`, so that it can go on, and write its results there")
	fs.BoolVar(&f.plots, "plots", false, "draw pictures, SVG and PNG, to DIR/plots")
	f.pageFlag.register(cmd)
	fs.StringVar(&f.format, "format", "table", "`NAME` of the format on stdout: table, json or csv")
	oneOf(cmd, "format", "table", "json", "csv")
}

func (f *studyOutput) check(cmd *cobra.Command) error {
	if f.plots && f.save == "" {
		return usagef("--plots draws into the directory of --save: give --save DIR")
	}
	if err := f.pageFlag.check(cmd); err != nil {
		return err
	}
	return choose("format", f.format, []string{"table", "json", "csv"})
}

// writable looks whether the page can be written; the directory of --save will be there.
func (f *studyOutput) writable(keep inputs) error {
	if f.save != "" && filepath.Dir(f.page) == filepath.Clean(f.save) {
		if _, err := os.Stat(f.save); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return f.pageFlag.writable(keep)
}

// conclude prints the result, saves it where that was asked for, and says whether the
// samplers did what they were to do.
func (f *studyOutput) conclude(stdout, stderr io.Writer, mode fs.FileMode, study *calibration.Study, trials []*calibration.Trial) error {
	summary, times := study.Summarise(trials), study.Runtimes(trials)
	if f.save != "" {
		err := writeStudy(f.save, mode, func(w io.Writer) error { return study.WriteTrials(w, trials) },
			func(w io.Writer) error { return study.WriteTiming(w, trials) }, summary.WriteCSV, summary.WriteJSON)
		if err != nil {
			return err
		}
		note(stderr, "results written to %s", f.save)
	}
	if f.plots {
		if err := drawStudy(f.save, mode, summary, times); err != nil {
			return err
		}
		note(stderr, "pictures written to %s", plotsOf(f.save))
	}
	page := func(w io.Writer, made report.Run) error { return report.CalibrationPage(w, summary, times, made) }
	if err := f.pageFlag.write(stderr, mode, page); err != nil {
		return err
	}
	if err := f.print(stdout, summary, times); err != nil {
		return err
	}
	unsound := 0
	for _, c := range summary.Cells {
		if !c.Sound {
			unsound++
		}
	}
	if unsound > 0 {
		return &exitError{unconverged, fmt.Errorf("in %d of %d cells more than 1 %% of the trials failed or met the sampler's limit", unsound, len(summary.Cells))}
	}
	return nil
}

func (f *studyOutput) print(stdout io.Writer, summary *calibration.Summary, times []calibration.Runtime) error {
	out := bufio.NewWriter(stdout)
	var err error
	switch f.format {
	case "json":
		err = summary.WriteJSON(out)
	case "csv":
		err = summary.WriteCSV(out)
	default:
		err = report.Calibration(out, summary, times)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}
