package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/saved"
	"github.com/dpreg/dpreg/table"
)

// Modes of files: what a release made known already, and what came from the rows
// without noise.
const (
	public  fs.FileMode = 0o644
	private fs.FileMode = 0o600
)

// checkWritable tells, before anything is read or spent, whether a file can be written.
func checkWritable(path string) error { return usage(files.CheckWritable(path)) }

// inputs are the files that a run reads or has paid for, none of which its
// results may overwrite.
type inputs []string

// spare refuses a path that names one of them, by whatever name.
func (in inputs) spare(path string) error {
	for _, name := range in {
		if name != "" && files.Same(path, name) {
			return usagef("%s would be overwritten: this run reads or makes it; choose another name or directory", name)
		}
	}
	return nil
}

// besides is a file beside the data: data.csv, and the directory data, become data +
// suffix. It is empty where there is no such place: standard input, patterns of files
// and what has no name are nowhere.
func besides(data, suffix string) string {
	info, err := os.Stat(data)
	fitting, _ := filepath.Glob(data)
	switch {
	case data == "", data == table.Stdin, errors.Is(err, fs.ErrNotExist) && fitting != nil:
		return ""
	case err == nil && info.IsDir():
		if path, err := filepath.Abs(data); err == nil && filepath.Base(data) != filepath.Base(path) {
			data = path // . or ..
		}
		return filepath.Clean(data) + suffix
	}
	return table.Stem(data) + suffix
}

// within puts a flag's name in front of an error.
func within(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// checkSave looks, before anything is spent, whether files can be written to the
// directory of --save. Draws that a run with more chains left there would be taken
// for draws of this one. What the run itself reads or pays for, keep, is not to be
// overwritten.
func (f *flags) checkSave(keep inputs) error {
	if f.save == "" {
		return f.refuseGiven("names parquet", "--%s is of draws that --save DIR keeps, and there is no --save")
	}
	d := saved.Dir(f.save)
	own := append(d.FormerReleases(), d.Summary(), d.Release(), d.Parquet())
	for chain := range f.chains {
		own = append(own, d.Chain(chain))
	}
	exists, err := checkDir(f.save, own, keep)
	if err != nil || !exists {
		return within("--save", err)
	}
	entries, err := os.ReadDir(f.save)
	if err != nil {
		return within("--save", usage(err))
	}
	for _, e := range entries {
		path := filepath.Join(f.save, e.Name())
		isDraws, _ := filepath.Match("draws-*.csv", e.Name()) // the pattern is sound
		if isDraws && !slices.Contains(own, path) {
			return usagef("--save: %s is of another run, with more chains: remove it, or choose another directory", path)
		}
	}
	return nil
}

// checkDir looks whether files can be written to a directory or, where it is still
// to be made, beside it; empty is no directory, and nothing to write.
func checkDir(dir string, own []string, keep inputs) (exists bool, err error) {
	if dir == "" {
		return false, nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		dir = filepath.Clean(dir)
		return false, errors.Join(keep.spare(dir), checkWritable(dir))
	case err == nil && !info.IsDir():
		return true, usagef("%s is not a directory", dir)
	case err != nil:
		return true, usage(err)
	}
	for _, path := range own {
		if err := keep.spare(path); err != nil {
			return true, err
		}
	}
	return true, checkWritable(own[0])
}

// modeOfFit is that of a fit's files: what is not private only its owner may read.
func modeOfFit(fit *dpreg.Fit) fs.FileMode {
	if fit.FromRows() {
		return private
	}
	return public
}

func readSaved(dir string) (*saved.Run, error) {
	run, err := saved.Dir(dir).Read()
	return run, within("--draws", usage(err))
}
