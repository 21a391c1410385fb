package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/internal/pace"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// The commands that run studies.
const (
	calibrates = "calibrate"
	compares   = "compare"
)

// study is a study that flags say, and how it is run.
type study struct {
	*dataset
	command string
	reads   string            // a file that is read, too
	rows    *calibration.Rows // of its table; nil: they are simulated
}

func newStudy(f *flags, command string) *study {
	return &study{dataset: &dataset{flags: f}, command: command}
}

// notOfDesign are the flags that do not say what is studied.
var notOfDesign = []string{"save", "shard", "plots", "plot", "report", "format", "jobs", "help", "population", "i-hold-the-data"}

// run runs the study that the flags say or, where they say nothing, that --save holds. build
// makes its design.
func (f *study) run(build func() (*calibration.Design, error)) error {
	if err := f.checkStudy(); err != nil {
		return err
	}
	shard, err := f.parseShard()
	if err != nil {
		return err
	}
	if f.population != "" && !f.holdsData {
		return refusef("%s prints what the rows of %s say, without privacy. If you may see the rows and keep the output to yourself, say --i-hold-the-data", f.command, f.population)
	}
	if f.save != "" {
		if said := slices.DeleteFunc(slices.Clone(notOfDesign), func(name string) bool { return !f.given(name) }); f.cmd.Flags().NFlag() == len(said) {
			build = f.again
		}
	}
	d, err := build()
	if err != nil {
		return err
	}
	of, err := d.Study(f.rows)
	if err != nil {
		return usage(err)
	}
	if err := f.writable(inputs{f.schema, f.reads, f.population, sidecar(f.population)}); err != nil {
		return err
	}
	trials, err := f.finish(of, calibration.Options{Shard: shard, Workers: f.jobs})
	if err != nil || shard.Count > 1 {
		return err
	}
	return f.conclude(of, trials)
}

// parseShard parses --shard, which needs --save and has no result yet.
func (f *flags) parseShard() (s calibration.Shard, err error) {
	switch {
	case f.shard == "":
		return s, nil
	case f.save == "":
		return s, usagef("--shard keeps its part in the directory of --save: give --save DIR")
	case f.pictures || f.plot != "" || f.page != "":
		return s, usagef("a shard has no result yet: give what draws or reports one to `dpreg %s merge`", f.cmd.Name())
	}
	var rest string
	if n, _ := fmt.Sscanf(f.shard+" .", "%d/%d %s", &s.Index, &s.Count, &rest); n != 3 || rest != "." || s.Index < 1 || s.Index > s.Count {
		return s, usagef("--shard %q: a part and a number of parts, such as 2/5", f.shard)
	}
	return s, nil
}

// again goes on with the study that --save holds.
func (f *study) again() (*calibration.Design, error) {
	flag, by, say := "--population", " by --population", "--preset fig3 or fig4, or --n and --eps"
	if f.command == compares {
		flag, by, say = "table", "", "--eps, and a table or --n"
	}
	d, err := readStudy(f.command, f.save)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("--save %s: there is no study yet; say what to study: %s", f.save, say)
	case err != nil:
		return nil, usage(err)
	case d.Population == nil && f.population != "":
		return nil, usagef("--save %s: its study simulates rows, and takes no %s", f.save, flag)
	case d.Population == nil:
		return d, nil
	case f.population == "":
		return nil, usagef("--save %s: its study is of %s: name the file%s", f.save, d.Population.Name, by)
	}
	if f.source, err = f.find(f.population); err != nil {
		return nil, usage(err)
	}
	return d, f.readAll(&d.Population.Columns, table.Options{Missing: d.Population.Missing, NA: d.Population.NA})
}

// onlyFor refuses flags that are for the other kind of rows: those of a table, whose file how
// says to name, or simulated ones.
func (f *study) onlyFor(how, ofTable, ofSimulated string) error {
	if f.population == "" {
		return f.refuseGiven(ofTable, "--%s is for a table: name its file, "+how)
	}
	return f.refuseGiven(ofSimulated, "--%s is for simulated rows: leave the flag out, or "+f.population)
}

// readTable reads the rows of the file, and says which they are.
func (f *study) readTable() (*calibration.Table, error) {
	cells, err := f.cells(false)
	if err != nil {
		return nil, err
	}
	if err := f.refuseAuto(isForRelease); err != nil {
		return nil, err
	}
	columns, _, err := f.design(f.population)
	if err != nil {
		return nil, err
	}
	if err := f.readAll(columns, cells); err != nil {
		return nil, err
	}
	return &calibration.Table{Name: filepath.Base(f.population), Columns: *columns, Missing: cells.Missing, NA: cells.NA, Rows: f.rows.Len(), Digest: f.rows.Digest()}, nil
}

// readAll keeps all rows of a study's table, which must not change meanwhile.
func (f *study) readAll(design *schema.Design, cells table.Options) (err error) {
	f.noteMissing(cells)
	return filesOf(f.stderr(), f.source).Read(f.say, func() error {
		f.rows, err = calibration.ReadRows(cells.Rows(f.source, design), len(design.Covariates)+1)
		return err
	})
}

// grid takes --n, --eps, --p, --delta and --data, each where it is given.
func (f *study) grid(d *calibration.Design) (err error) {
	err = errors.Join(
		takeList(&d.Ns, "n", f.n, whole[int64](math.MaxInt32)),
		takeList(&d.Epsilons, "eps", f.epsilon, schema.ParseNumber),
		takeList(&d.Ps, "p", f.p, whole[int](maxPlanned)))
	if err != nil {
		return err
	}
	if d.Steps, err = custody.ParseSteps(f.looks); err != nil {
		return err
	}
	if d.Steps == 1 {
		d.Steps = 0
	}
	if f.delta != "" {
		if d.Delta, err = schema.ParseNumber(f.delta); err != nil {
			return usagef("--delta %q: %w", f.delta, err)
		}
	}
	if f.rowLaw != "" {
		d.Data = calibration.Data(f.rowLaw)
	}
	return nil
}

func takeList[T int | int64 | float64](to *[]T, flag, text string, parse func(string) (T, error)) (err error) {
	if text != "" {
		*to, err = parseList(flag, text, parse)
	}
	return err
}

// whole parses a whole number from 1 to most.
func whole[T int | int64](most float64) func(text string) (T, error) {
	return func(text string) (T, error) {
		v, err := schema.ParseNumber(text)
		if err == nil && (v != math.Trunc(v) || v < 1 || v > most) {
			err = fmt.Errorf("a whole number from 1 to %v is needed", most)
		}
		return T(v), err
	}
}

// finish runs the study to its end, or a shard of it, in the directory of --save where there
// is one, and says how it goes on.
func (f *study) finish(study *calibration.Study, o calibration.Options) ([]*calibration.Trial, error) {
	var journal *calibration.Journal
	if f.save != "" {
		var recorded *calibration.Recorded
		var err error
		if journal, recorded, err = f.open(study, o.Shard); err != nil {
			return nil, err
		}
		if n := len(recorded.Trials); n > 0 {
			f.note("going on after %d finished trials", n)
		}
		if recorded.Cut {
			f.note("the journal's last line was cut off: that trial is run again")
		}
		o.Done, o.Keep = recorded.Trials, journal.Keep
	}
	bar := newBar(f.stderr(), "trials ", pace.New(len(o.Done), time.Now()))
	o.Progress = bar.update
	trials, err := study.Run(f.ctx(), o)
	bar.finish()
	if journal == nil {
		return trials, err
	}
	if closed := journal.Close(); err == nil {
		err = closed
	}
	switch {
	case errors.Is(err, context.Canceled):
		f.note("finished trials are kept in %s: the same command goes on", f.save)
	case err == nil && o.Shard.Count > 1:
		f.note("shard %v is finished; put the shards together by `dpreg %s merge --save DIR %s ...`", o.Shard, f.command, files.Quoted(f.save))
	}
	return trials, err
}
