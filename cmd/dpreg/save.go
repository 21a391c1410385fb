package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
)

// within puts a flag's name in front of an error.
func within(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

func (f *inferFlags) drawsFile(chain int) string {
	return filepath.Join(f.save, fmt.Sprintf("draws-%d.csv", chain+1))
}

func (f *inferFlags) summaryFile() string { return filepath.Join(f.save, "summary.json") }

// checkSave looks, before anything is spent, whether files can be written to the
// directory of --save. Draws that a run with more chains left there would be taken
// for draws of this one. What the run itself reads or pays for, keep, is not to be
// overwritten.
func (f *inferFlags) checkSave(keep inputs) error {
	own := append(f.formerReleases(), f.summaryFile(), f.releaseFile())
	for chain := range f.chains {
		own = append(own, f.drawsFile(chain))
	}
	exists, err := checkDir(f.save, own, keep)
	if err != nil || !exists {
		return within("--save", err)
	}
	return f.checkDraws(own)
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

// makeDir makes a directory unless it is there.
func makeDir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// modes are those of a fit's files and directories: what is not private only its
// owner may read.
func modes(fit *dpreg.Fit) (file, dir fs.FileMode) {
	if fit.FromRows() {
		return private, 0o700
	}
	return public, 0o755
}

// checkDraws refuses draws that would stay beside the run's own files.
func (f *inferFlags) checkDraws(own []string) error {
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

// write saves draws and summary, each file all or nothing.
func (f *inferFlags) write(fit *dpreg.Fit, summary *posterior.Summary) error {
	draws := fit.StanDraws(dpreg.Units(f.units))
	comments := f.comments(fit, draws, summary)
	mode, dirMode := modes(fit)
	if err := makeDir(f.save, dirMode); err != nil {
		return within("--save", err)
	}
	for chain := range draws.NumChains() {
		err := writeFile(f.drawsFile(chain), mode, func(w io.Writer) error { return draws.WriteStanCSV(w, chain, comments) })
		if err != nil {
			return err
		}
	}
	if err := f.writeReleases(fit); err != nil {
		return err
	}
	return writeFile(f.summaryFile(), mode, summary.WriteJSON)
}

// comments say at the head of a file of draws where it comes from.
func (f *inferFlags) comments(fit *dpreg.Fit, draws *posterior.Draws, summary *posterior.Summary) []string {
	lines := []string{
		"dpreg " + version(),
		"formula = " + formulaOf(fit.Design),
		"units = " + f.units,
		"dpreg_method = " + fit.Method,
		fmt.Sprintf("seed = %d", fit.Plan.Seed),
	}
	if fit.Kernel != "" {
		lines = append(lines, "kernel = "+fit.Kernel)
	}
	for j, c := range fit.Custodians {
		if p := c.Release.Privacy; len(fit.Custodians) > 1 {
			lines = append(lines, releaseKey(j)+" = "+strings.ReplaceAll(c.Name, "\n", " "))
		} else if p != nil {
			lines = append(lines, fmt.Sprintf("privacy: epsilon = %v, delta = %v, %s", p.Epsilon, p.Delta, p.Neighbours))
		}
	}
	lines = append(lines, posterior.StanLabels(draws.Names, fit.StanLabels())...)
	for _, w := range summary.Warnings {
		lines = append(lines, "warning: "+w)
	}
	return lines
}
