package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/report"
)

// studyOutput is what is made of a study that is finished.
type studyOutput struct {
	command, save, format string
	plots                 bool   // of calibrate
	plot                  string // of compare
	pageFlag                     // of calibrate
}

func (f *studyOutput) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	short := ""
	if f.command == compares {
		short = "o"
		fs.StringVar(&f.plot, "plot", "", "draw the results into this `FILE` (.svg, .png)")
	} else {
		fs.BoolVar(&f.plots, "plots", false, "draw pictures, SVG and PNG, to DIR/plots")
		f.pageFlag.register(cmd)
	}
	fs.StringVarP(&f.save, "save", short, "", "keep the study in this `DIR`, so that it can go on, and write its results there")
	fs.StringVar(&f.format, "format", "table", "`NAME` of the format on stdout: table, json or csv")
	oneOf(cmd, "format", "table", "json", "csv")
}

func (f *studyOutput) check(cmd *cobra.Command) error {
	if f.plots && f.save == "" {
		return usagef("--plots draws into the directory of --save: give --save DIR")
	}
	if err := checkPlotFile(f.plot); err != nil {
		return err
	}
	if err := f.pageFlag.check(cmd); err != nil {
		return err
	}
	return choose("format", f.format, []string{"table", "json", "csv"})
}

// writable looks whether picture and page can be written; the directory of --save will be there.
func (f *studyOutput) writable(keep inputs) error {
	if f.plot != "" {
		if err := keep.spare(f.plot); err != nil {
			return within("--plot", err)
		}
	}
	if f.save != "" && filepath.Dir(f.page) == filepath.Clean(f.save) {
		if _, err := os.Stat(f.save); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return f.pageFlag.writable(keep)
}

// conclude prints the result, saves and draws it where that was asked for, and says whether
// the samplers did what they were to do.
func (f *studyOutput) conclude(stdout, stderr io.Writer, study *calibration.Study, trials []*calibration.Trial) error {
	results, times := study.Results(trials), study.Runtimes(trials)
	if f.save != "" {
		if err := f.write(study, trials, results); err != nil {
			return err
		}
		note(stderr, "results written to %s", f.save)
	}
	if err := f.draw(stderr, modeOf(study), results, times); err != nil {
		return err
	}
	if err := f.print(stdout, results, times); err != nil {
		return err
	}
	if n := results.Unsound(); n > 0 {
		return &exitError{unconverged, fmt.Errorf("in %d of %d cells more than 1 %% of the trials failed or met the sampler's limit", n, len(study.Cells))}
	}
	return nil
}

// resultFiles are those of a finished study.
var resultFiles = []string{"results.csv", "timing.csv", "summary.csv", "summary.json"}

// write writes what a finished study tells, each file of resultFiles all or nothing.
func (f *studyOutput) write(study *calibration.Study, trials []*calibration.Trial, results calibration.Results) error {
	for i, write := range []func(io.Writer) error{
		func(w io.Writer) error { return study.WriteTrials(w, trials) },
		func(w io.Writer) error { return study.WriteTiming(w, trials) },
		results.WriteCSV, results.WriteJSON,
	} {
		if err := writeFile(filepath.Join(f.save, resultFiles[i]), modeOf(study), write); err != nil {
			return err
		}
	}
	return nil
}

// draw draws what --plots, --report or --plot asks for.
func (f *studyOutput) draw(stderr io.Writer, mode fs.FileMode, results calibration.Results, times []calibration.Runtime) error {
	switch s := results.(type) {
	case *calibration.Comparison:
		if f.plot == "" {
			return nil
		}
		figure, err := report.ComparisonPlot(s, times)
		if err != nil {
			return err
		}
		if err := writeFigure(f.plot, mode, figure); err != nil {
			return err
		}
		note(stderr, "picture written to %s", f.plot)
	case *calibration.Summary:
		if f.plots {
			if err := drawStudy(filepath.Join(f.save, "plots"), mode, s, times); err != nil {
				return err
			}
			note(stderr, "pictures written to %s", filepath.Join(f.save, "plots"))
		}
		return f.pageFlag.write(stderr, mode, func(w io.Writer, made report.Run) error { return report.CalibrationPage(w, s, times, made) })
	}
	return nil
}

// drawStudy draws every figure in every format.
func drawStudy(dir string, mode fs.FileMode, summary *calibration.Summary, times []calibration.Runtime) error {
	if err := os.Mkdir(dir, searchable(mode)); err != nil && !errors.Is(err, fs.ErrExist) {
		return within("--plots", err)
	}
	for _, figure := range report.CalibrationPlots(summary, times) {
		for _, format := range report.PlotFormats {
			if err := writeFigure(filepath.Join(dir, figure.Name+"."+format), mode, figure); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFigure writes a figure in the format that the file's name has.
func writeFigure(path string, mode fs.FileMode, figure *report.Figure) error {
	return writeFile(path, mode, func(w io.Writer) error { return figure.Write(w, plotFormat(path)) })
}

func (f *studyOutput) print(stdout io.Writer, results calibration.Results, times []calibration.Runtime) error {
	return printAs(stdout, f.format, results, func(out io.Writer) error {
		if s, ok := results.(*calibration.Comparison); ok {
			return report.Comparison(out, s, times)
		}
		return report.Calibration(out, results.(*calibration.Summary), times)
	})
}

func designOf(dir string) string  { return filepath.Join(dir, "study.json") }
func journalOf(dir string) string { return filepath.Join(dir, "journal") }

// readStudy reads the design of a command's study in a directory.
func readStudy(command, dir string) (*calibration.Design, error) {
	text, err := os.ReadFile(designOf(dir))
	if err != nil {
		return nil, err
	}
	d, err := calibration.ReadDesign(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", designOf(dir), err)
	}
	of := calibrates
	if d.Compares() {
		of = compares
	}
	if of != command {
		return nil, usagef("%s is of a study of dpreg %s, not of dpreg %s", designOf(dir), of, command)
	}
	return d, nil
}

// modeOf is that of a study's files: those of real rows are their holder's.
func modeOf(study *calibration.Study) fs.FileMode {
	if study.Population != "" {
		return private
	}
	return public
}

// searchable is the mode of a directory of such files.
func searchable(mode fs.FileMode) fs.FileMode { return mode | mode&0o444>>2 }

// open makes the directory of a study, or goes on with the study that is there, which has to
// be the same.
func (f *studyOutput) open(study *calibration.Study, shard calibration.Shard) (*calibration.Journal, *calibration.Recorded, error) {
	dir, mode := f.save, modeOf(study)
	if err := os.Mkdir(dir, searchable(mode)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, nil, within("--save", usage(err))
	}
	there, err := os.ReadFile(designOf(dir))
	begins := errors.Is(err, fs.ErrNotExist)
	switch {
	case begins:
		if err := foreign(dir); err != nil {
			return nil, nil, err
		}
	case err != nil:
		return nil, nil, within("--save", usage(err))
	case !bytes.Equal(there, study.Description):
		return nil, nil, usagef("--save: %s is of another study: choose another directory, or go on with it by `dpreg %s --save %s` alone", designOf(dir), f.command, shellWord(dir))
	}
	journal, recorded, err := calibration.OpenJournal(journalOf(dir), study, shard)
	if err != nil {
		return nil, nil, within("--save", usage(err))
	}
	if begins {
		design := func(w io.Writer) error {
			_, err := w.Write(study.Description)
			return err
		}
		if err := writeFile(designOf(dir), mode, design); err != nil {
			return nil, nil, within("--save", errors.Join(err, journal.Close()))
		}
	}
	return journal, recorded, nil
}

// foreign refuses files that a new study would overwrite. A journal says itself of which
// study it is.
func foreign(dir string) error {
	if _, err := os.Stat(journalOf(dir)); err == nil {
		return nil
	}
	for _, name := range resultFiles {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			return usagef("--save: %s would be overwritten, and is of no study: choose another directory", path)
		}
	}
	return nil
}

const mergeHelp = `Put the shards of a study together, each in the directory in which it was run. The
results are those of one run without shards, to the last byte; timing.csv aside. The
rows of a table are not read again.`

// newMerge is the merge of a command that runs studies.
func newMerge(command string) *cobra.Command {
	f := studyOutput{command: command}
	cmd := &cobra.Command{
		Use:     "merge --save DIR SHARD...",
		Short:   "Put the shards of a study together",
		Long:    mergeHelp,
		Example: "  dpreg " + command + " merge --save whole part1 part2 part3",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("merge needs the directories of the shards: dpreg %s merge --save DIR SHARD...", command)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.merge(cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *studyOutput) merge(stdout, stderr io.Writer, dirs []string) error {
	if f.save == "" {
		return usagef("merge writes to the directory of --save: give --save DIR")
	}
	if err := f.writable(nil); err != nil {
		return err
	}
	design, err := readStudy(f.command, dirs[0])
	if err != nil {
		return usage(err)
	}
	study, err := design.Study(nil)
	if err != nil {
		return usage(fmt.Errorf("%s: %w", designOf(dirs[0]), err))
	}
	trials, err := mergeShards(dirs, study)
	if err != nil {
		return err
	}
	if err := f.keep(study, trials); err != nil {
		return err
	}
	return f.conclude(stdout, stderr, study, trials)
}

// mergeShards puts the shards of a study together, each of which was run in a directory of
// its own.
func mergeShards(dirs []string, study *calibration.Study) ([]*calibration.Trial, error) {
	var parts []*calibration.Recorded
	for _, dir := range dirs {
		design, err := os.ReadFile(designOf(dir))
		if err != nil {
			return nil, usage(err)
		}
		if !bytes.Equal(design, study.Description) {
			return nil, usagef("%s is of another study than the first shard", designOf(dir))
		}
		part, err := calibration.ReadJournal(journalOf(dir), study)
		if err != nil {
			return nil, usage(err)
		}
		parts = append(parts, part)
	}
	trials, err := calibration.Merge(study, parts)
	return trials, usage(err)
}

// keep writes the journal of a study whose shards were put together.
func (f *studyOutput) keep(study *calibration.Study, trials []*calibration.Trial) error {
	journal, recorded, err := f.open(study, calibration.Shard{})
	if err != nil {
		return err
	}
	if len(recorded.Trials) > 0 {
		return errors.Join(usagef("--save %s: there are trials already: choose another directory", f.save), journal.Close())
	}
	for _, t := range trials {
		if err := journal.Keep(t); err != nil {
			return errors.Join(err, journal.Close())
		}
	}
	return journal.Close()
}

// studyProgress shows how far a study is and how much time is left: a bar where stderr
// is a terminal, else a line a minute, since a study may run for hours.
type studyProgress struct {
	stderr io.Writer
	pace   *pace
	bar    *counting
	said   time.Time
}

// sayEvery is the time between two lines.
const sayEvery = time.Minute

// newStudyProgress is that of a study of which so many trials were finished before.
func newStudyProgress(stderr io.Writer, before int) *studyProgress {
	now := time.Now()
	return &studyProgress{stderr: stderr, pace: newPace(before, now), said: now}
}

// update is a study's Progress.
func (p *studyProgress) update(done, total int) {
	if isTerminal(p.stderr) {
		if p.bar == nil {
			p.bar = countingBar(p.stderr, "trials ", total)
			p.bar.pace = p.pace
		}
		p.bar.update(done, total)
		return
	}
	now := time.Now()
	left := p.pace.left(done, total, now)
	if now.Sub(p.said) >= sayEvery {
		p.said = now
		note(p.stderr, "%d of %d trials%s", done, total, left)
	}
}

// finish takes the bar away.
func (p *studyProgress) finish() { p.bar.finish() }
