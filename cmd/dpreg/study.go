package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// The commands that run studies.
const (
	calibrates = "calibrate"
	compares   = "compare"
)

// studyFlags are the flags that both have, and how a study is run.
type studyFlags struct {
	studyOutput
	n, eps, p, delta, data, shard string
	trials, jobs                  int
	seed                          uint64
	holdsData                     bool

	file    string       // with the rows of a table; empty: they are simulated
	reading releaseFlags // how it is read
	reads   string       // a file that is read, too
}

// register registers the flags; covariates is the default of --p.
func (f *studyFlags) register(cmd *cobra.Command, covariates int) {
	fs := cmd.Flags()
	fs.StringVar(&f.n, "n", "", "numbers of records, a `LIST` such as 200,1000")
	fs.StringVar(&f.eps, "eps", "", "privacy budgets ε, a `LIST` such as 0.1,0.5,1")
	fs.StringVar(&f.p, "p", "", fmt.Sprintf("of simulated rows: numbers of covariates, a `LIST` (default %d)", covariates))
	fs.StringVar(&f.delta, "delta", "", "δ, a `NUMBER` far below 1/n, such as 1e-6; without it noise is Laplace, else Laplace or Gaussian, whichever is smaller")
	fs.StringVar(&f.data, "data", "", "of simulated rows: `NAME` of what becomes of values outside the bounds: unclamped (default) or clamped")
	fs.StringVar(&f.reading.schema, "schema", "", "Frictionless Table Schema `FILE` with the columns and their public bounds (of data.csv by default data.schema.json)")
	fs.StringVar(&f.reading.formula, "formula", "", formulaUsage+"default: the last column on all others")
	fs.StringArrayVar(&f.reading.bounds, "bounds", nil, "public bounds of a table's column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file")
	f.reading.registerCells(cmd)
	fs.BoolVar(&f.holdsData, "i-hold-the-data", false, "for rows of a table: you may see them, and the output stays with you")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the study, its noise included, a `NUMBER`")
	fs.StringVar(&f.shard, "shard", "", "run part `I/K` of the trials only, with --save")
	f.studyOutput.register(cmd)
	oneOf(cmd, "data", string(calibration.Unclamped), string(calibration.Clamped))
	cmd.AddCommand(newMerge(f.command))
}

// notOfDesign are the flags that do not say what is studied.
var notOfDesign = []string{"save", "shard", "plots", "plot", "report", "format", "jobs", "help", "population", "i-hold-the-data"}

// run runs the study that the flags say or, where they say nothing, that --save holds. build
// makes its design, and the rows of its table.
func (f *studyFlags) run(cmd *cobra.Command, build func(io.Writer, *cobra.Command) (*calibration.Design, *calibration.Rows, error)) error {
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := f.check(cmd); err != nil {
		return err
	}
	shard, err := f.parseShard()
	if err != nil {
		return err
	}
	if f.file != "" && !f.holdsData {
		return refusef("%s prints what the rows of %s say, without privacy. If you may see the rows and keep the output to yourself, say --i-hold-the-data", f.command, f.file)
	}
	if f.jobs < 0 {
		return usagef("--jobs %d: at least 1, or 0 for the number of cores", f.jobs)
	}
	if isGiven := cmd.Flags().Changed; f.save != "" {
		if said := slices.DeleteFunc(slices.Clone(notOfDesign), func(name string) bool { return !isGiven(name) }); cmd.Flags().NFlag() == len(said) {
			build = f.again
		}
	}
	d, rows, err := build(stderr, cmd)
	if err != nil {
		return err
	}
	study, err := d.Study(rows)
	if err != nil {
		return usage(err)
	}
	if err := f.writable(inputs{f.reading.schema, f.reads, f.file, sidecar(f.file)}); err != nil {
		return err
	}
	trials, err := f.finish(cmd, study, calibration.Options{Shard: shard, Workers: f.jobs})
	if err != nil || shard.Count > 1 {
		return err
	}
	return f.conclude(stdout, stderr, study, trials)
}

// parseShard parses --shard, which needs --save and has no result yet.
func (f *studyFlags) parseShard() (s calibration.Shard, err error) {
	switch {
	case f.shard == "":
		return s, nil
	case f.save == "":
		return s, usagef("--shard keeps its part in the directory of --save: give --save DIR")
	case f.plots || f.plot != "" || f.page != "":
		return s, usagef("a shard has no result yet: give what draws or reports one to `dpreg %s merge`", f.command)
	}
	var rest string
	if n, _ := fmt.Sscanf(f.shard+" .", "%d/%d %s", &s.Index, &s.Count, &rest); n != 3 || rest != "." || s.Index < 1 || s.Index > s.Count {
		return s, usagef("--shard %q: a part and a number of parts, such as 2/5", f.shard)
	}
	return s, nil
}

// again goes on with the study that --save holds.
func (f *studyFlags) again(stderr io.Writer, _ *cobra.Command) (*calibration.Design, *calibration.Rows, error) {
	flag, by, say := "--population", " by --population", "--preset fig3 or fig4, or --n and --eps"
	if f.command == compares {
		flag, by, say = "table", "", "--eps, and a table or --n"
	}
	d, err := readStudy(f.command, f.save)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, usagef("--save %s: there is no study yet; say what to study: %s", f.save, say)
	case err != nil:
		return nil, nil, usage(err)
	case d.Population == nil && f.file != "":
		return nil, nil, usagef("--save %s: its study simulates rows, and takes no %s", f.save, flag)
	case d.Population == nil:
		return d, nil, nil
	case f.file == "":
		return nil, nil, usagef("--save %s: its study is of %s: name the file%s", f.save, d.Population.Name, by)
	}
	source, err := findRows(f.file)
	if err != nil {
		return nil, nil, err
	}
	rows, err := readAll(stderr, source, &d.Population.Columns, table.Options{Missing: d.Population.Missing, NA: d.Population.NA})
	return d, rows, err
}

// onlyFor refuses flags that are for the other kind of rows: those of a table, whose file how
// says to name, or simulated ones.
func (f *studyFlags) onlyFor(cmd *cobra.Command, how string, ofTable, ofSimulated []string) error {
	if f.file == "" {
		return given(cmd, ofTable, "--%s is for a table: name its file, "+how)
	}
	return given(cmd, ofSimulated, "--%s is for simulated rows: leave the flag out, or "+f.file)
}

// given refuses the first of some flags that was.
func given(cmd *cobra.Command, names []string, says string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return usagef(says, name)
		}
	}
	return nil
}

// errNoBounds refuses to look for bounds in a study's rows.
var errNoBounds = usagef("--bounds auto is for a release; a study needs public bounds of every column (dpreg schema)")

// table reads the rows of the file, and says which they are.
func (f *studyFlags) table(stderr io.Writer) (*calibration.Table, *calibration.Rows, error) {
	cells, err := f.reading.cells(false)
	if err != nil {
		return nil, nil, err
	}
	columns, unbounded, err := f.reading.design(stderr, f.file)
	if err != nil {
		return nil, nil, err
	}
	if unbounded != nil {
		return nil, nil, errNoBounds
	}
	rows, err := readAll(stderr, f.reading.source, columns, cells)
	if err != nil {
		return nil, nil, err
	}
	return &calibration.Table{Name: filepath.Base(f.file), Columns: *columns, Missing: cells.Missing, NA: cells.NA, Rows: rows.Len(), Digest: rows.Digest()}, rows, nil
}

// readAll keeps all rows of a study's table, which must not change meanwhile.
func readAll(stderr io.Writer, source *table.Source, design *schema.Design, cells table.Options) (rows *calibration.Rows, err error) {
	noteMissing(stderr, cells)
	err = filesOf(stderr, source).Read(sayTo(stderr), func() error {
		rows, err = calibration.ReadRows(cells.Rows(source, design), len(design.Covariates)+1)
		return err
	})
	return rows, err
}

// grid takes --n, --eps, --p, --delta and --data, each where it is given.
func (f *studyFlags) grid(d *calibration.Design) (err error) {
	if f.n != "" {
		if d.Ns, err = parseList("n", f.n, func(text string) (int64, error) { return parseWhole(text, math.MaxInt32) }); err != nil {
			return err
		}
	}
	if f.eps != "" {
		if d.Epsilons, err = parseList("eps", f.eps, schema.ParseNumber); err != nil {
			return err
		}
	}
	if f.p != "" {
		list, err := parseList("p", f.p, func(text string) (int64, error) { return parseWhole(text, maxPlanned) })
		if err != nil {
			return err
		}
		d.Ps = nil
		for _, p := range list {
			d.Ps = append(d.Ps, int(p))
		}
	}
	if f.delta != "" {
		if d.Delta, err = schema.ParseNumber(f.delta); err != nil {
			return usagef("--delta %q: %w", f.delta, err)
		}
	}
	if f.data != "" {
		d.Data = calibration.Data(f.data)
		return choose("data", f.data, []string{string(calibration.Unclamped), string(calibration.Clamped)})
	}
	return nil
}

// parseWhole parses a whole number from 1 to most.
func parseWhole(text string, most float64) (int64, error) {
	v, err := schema.ParseNumber(text)
	if err == nil && (v != math.Trunc(v) || v < 1 || v > most) {
		err = fmt.Errorf("a whole number from 1 to %v is needed", most)
	}
	return int64(v), err
}

// finish runs the study to its end, or a shard of it, in the directory of --save where there
// is one, and says how it goes on.
func (f *studyFlags) finish(cmd *cobra.Command, study *calibration.Study, o calibration.Options) ([]*calibration.Trial, error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	var journal *calibration.Journal
	if f.save != "" {
		var recorded *calibration.Recorded
		var err error
		if journal, recorded, err = f.open(study, o.Shard); err != nil {
			return nil, err
		}
		if n := len(recorded.Trials); n > 0 {
			note(stderr, "going on after %d finished trials", n)
		}
		if recorded.Cut {
			note(stderr, "the journal's last line was cut off: that trial is run again")
		}
		o.Done, o.Keep = recorded.Trials, journal.Keep
	}
	progress := newStudyProgress(stderr, len(o.Done))
	o.Progress = progress.update
	trials, err := study.Run(ctx, o)
	progress.finish()
	if journal == nil {
		return trials, err
	}
	if closed := journal.Close(); err == nil {
		err = closed
	}
	switch {
	case errors.Is(err, context.Canceled):
		note(stderr, "finished trials are kept in %s: the same command goes on", f.save)
	case err == nil && o.Shard.Count > 1:
		note(stderr, "shard %v is finished; put the shards together by `dpreg %s merge --save DIR %s ...`", o.Shard, f.command, shellWord(f.save))
	}
	return trials, err
}
