package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/report"
)

// checkStudy checks the flags on what is made of a study that is finished.
func (f *study) checkStudy() error {
	if f.pictures && f.save == "" {
		return usagef("--plots draws into the directory of --save: give --save DIR")
	}
	return errors.Join(f.checkPlot(), f.checkPage())
}

// writable looks whether picture and page can be written; the directory of --save will be there.
func (f *study) writable(keep inputs) error {
	if err := f.checkPlot(keep...); err != nil {
		return err
	}
	if f.save != "" && filepath.Dir(f.page) == filepath.Clean(f.save) {
		if _, err := os.Stat(f.save); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return f.pageWritable(keep)
}

// conclude prints the result, saves and draws it where that was asked for, and says whether
// the samplers did what they were to do.
func (f *study) conclude(of *calibration.Study, trials []*calibration.Trial) error {
	results, times := of.Results(trials), of.Runtimes(trials)
	if f.save != "" {
		if err := f.write(of, trials, results); err != nil {
			return err
		}
		f.note("results written to %s", f.save)
	}
	text, err := f.show(modeOf(of), results, times)
	if err != nil {
		return err
	}
	if err := f.print(results, text); err != nil {
		return err
	}
	if n := results.Unsound(); n > 0 {
		return unconvergedError(fmt.Sprintf("in %d of %d cells more than 1 %% of the trials failed or met the sampler's limit", n, len(of.Cells)))
	}
	return nil
}

// show draws what --plots, --report or --plot asks for, and gives the result as a text.
func (f *study) show(mode fs.FileMode, results calibration.Results, times []calibration.Runtime) (text func(io.Writer) error, err error) {
	if s, ok := results.(*calibration.Comparison); ok {
		err := f.writePlot(mode, func(w io.Writer, format string) error {
			figure, err := report.ComparisonPlot(s, times)
			if err != nil {
				return err
			}
			return figure.Write(w, format)
		})
		return func(out io.Writer) error { return report.Comparison(out, s, times) }, err
	}
	s := results.(*calibration.Summary)
	if f.pictures {
		dir := filepath.Join(f.save, "plots")
		if err := drawFigures(dir, mode, report.CalibrationPlots(s, times)); err != nil {
			return nil, err
		}
		f.note("pictures written to %s", dir)
	}
	made, err := f.made(nil)
	if err != nil {
		return nil, err
	}
	err = f.writePage(mode, func(w io.Writer) error { return report.CalibrationPage(w, s, times, made) })
	return func(out io.Writer) error { return report.Calibration(out, s, times) }, err
}

// resultFiles are those of a finished study.
var resultFiles = []string{"results.csv", "timing.csv", "summary.csv", "summary.json"}

// write writes what a finished study tells, each file of resultFiles all or nothing.
func (f *study) write(study *calibration.Study, trials []*calibration.Trial, results calibration.Results) error {
	for i, write := range []func(io.Writer) error{
		func(w io.Writer) error { return study.WriteTrials(w, trials) },
		func(w io.Writer) error { return study.WriteTiming(w, trials) },
		results.WriteCSV, results.WriteJSON,
	} {
		if err := files.Write(filepath.Join(f.save, resultFiles[i]), modeOf(study), write); err != nil {
			return err
		}
	}
	return nil
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

// open makes the directory of a study, or goes on with the study that is there, which has to
// be the same.
func (f *study) open(study *calibration.Study, shard calibration.Shard) (*calibration.Journal, *calibration.Recorded, error) {
	dir, mode := f.save, modeOf(study)
	if err := files.MakeDir(dir, mode); err != nil {
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
		return nil, nil, usagef("--save: %s is of another study: choose another directory, or go on with it by `dpreg %s --save %s` alone", designOf(dir), f.command, files.Quoted(dir))
	}
	journal, recorded, err := calibration.OpenJournal(journalOf(dir), study, shard)
	if err != nil {
		return nil, nil, within("--save", usage(err))
	}
	if begins {
		if err := files.Write(designOf(dir), mode, files.Text(study.Description)); err != nil {
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

// runMerge puts the shards of a command's study together.
func runMerge(command string) func(*flags, []string) error {
	return func(f *flags, dirs []string) error { return newStudy(f, command).merge(dirs) }
}

func (f *study) merge(dirs []string) error {
	if f.save == "" {
		return usagef("merge writes to the directory of --save: give --save DIR")
	}
	if err := errors.Join(f.checkStudy(), f.writable(nil)); err != nil {
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
	return f.conclude(study, trials)
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
func (f *study) keep(study *calibration.Study, trials []*calibration.Trial) error {
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
