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
	"github.com/dpreg/dpreg/report"
)

// studyFolder is the directory of --save while a study runs.
type studyFolder struct {
	journal  *calibration.Journal
	recorded *calibration.Recorded
}

func designOf(dir string) string  { return filepath.Join(dir, "study.json") }
func journalOf(dir string) string { return filepath.Join(dir, "journal") }

// readStudy reads the design of the study in a directory.
func readStudy(dir string) (*calibration.Design, error) {
	text, err := os.ReadFile(designOf(dir))
	if err != nil {
		return nil, err
	}
	d, err := calibration.ReadDesign(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", designOf(dir), err)
	}
	return d, nil
}

// openStudy makes the directory of a study, or goes on with the study that is there,
// which has to be the same. command is whose study it is, and mode that of its files.
func openStudy(command, dir string, mode fs.FileMode, study *calibration.Study, shard calibration.Shard) (*studyFolder, error) {
	if err := os.Mkdir(dir, searchable(mode)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, within("--save", usage(err))
	}
	there, err := os.ReadFile(designOf(dir))
	begins := errors.Is(err, fs.ErrNotExist)
	switch {
	case begins:
		if err := foreign(dir); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, within("--save", usage(err))
	case !bytes.Equal(there, study.Description):
		return nil, usagef("--save: %s is of another study: choose another directory, or go on with it by `dpreg %s --save %s` alone", designOf(dir), command, shellWord(dir))
	}
	journal, recorded, err := calibration.OpenJournal(journalOf(dir), study, shard)
	if err != nil {
		return nil, within("--save", usage(err))
	}
	if begins {
		if err := writeFile(designOf(dir), mode, writeText(study.Description)); err != nil {
			return nil, within("--save", errors.Join(err, journal.Close()))
		}
	}
	return &studyFolder{journal, recorded}, nil
}

// searchable is the mode of a directory of such files.
func searchable(mode fs.FileMode) fs.FileMode { return mode | mode&0o444>>2 }

// resultFiles are those of a finished study.
var resultFiles = []string{"results.csv", "timing.csv", "summary.csv", "summary.json"}

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

// say tells what was found.
func (f *studyFolder) say(stderr io.Writer) {
	if n := len(f.recorded.Trials); n > 0 {
		note(stderr, "going on after %d finished trials", n)
	}
	if f.recorded.Cut {
		note(stderr, "the journal's last line was cut off: that trial is run again")
	}
}

// writeStudy writes what a finished study tells, each file of resultFiles all or nothing.
func writeStudy(dir string, mode fs.FileMode, writers ...func(io.Writer) error) error {
	for i, write := range writers {
		if err := writeFile(filepath.Join(dir, resultFiles[i]), mode, write); err != nil {
			return err
		}
	}
	return nil
}

// drawStudy draws every figure in every format.
func drawStudy(dir string, mode fs.FileMode, summary *calibration.Summary, times []calibration.Runtime) error {
	figures, err := report.CalibrationPlots(summary, times)
	if err != nil {
		return err
	}
	if err := os.Mkdir(plotsOf(dir), searchable(mode)); err != nil && !errors.Is(err, fs.ErrExist) {
		return within("--plots", err)
	}
	for _, figure := range figures {
		for _, format := range report.PlotFormats {
			path := filepath.Join(plotsOf(dir), figure.Name+"."+format)
			if err := writeFile(path, mode, func(w io.Writer) error { return figure.Write(w, format) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeText writes a text, for writeFile.
func writeText(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}
