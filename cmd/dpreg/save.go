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
// directory of --save or, where it is still to be made, beside it. Draws that a
// run with more chains left there would be taken for draws of this one. What the
// run itself reads or pays for, keep, is not to be overwritten.
func (f *inferFlags) checkSave(keep inputs) error {
	if f.save == "" {
		return nil
	}
	info, err := os.Stat(f.save)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		dir := filepath.Clean(f.save)
		return within("--save", errors.Join(keep.spare(dir), checkWritable(dir)))
	case err == nil && !info.IsDir():
		return usagef("--save: %s is not a directory", f.save)
	case err != nil:
		return within("--save", usage(err))
	}
	own := []string{f.summaryFile(), f.releaseFile()}
	for chain := range f.chains {
		own = append(own, f.drawsFile(chain))
	}
	for _, path := range own {
		if err := keep.spare(path); err != nil {
			return within("--save", err)
		}
	}
	if err := checkWritable(f.summaryFile()); err != nil {
		return within("--save", err)
	}
	return f.checkDraws(own)
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

// write saves draws and summary, each file all or nothing. What is not private
// only its owner may read.
func (f *inferFlags) write(fit *dpreg.Fit) error {
	units := dpreg.Units(f.units)
	draws, summary := fit.StanDraws(units), fit.Summary(units, f.level)
	comments := f.comments(fit, summary)
	mode, dirMode := public, fs.FileMode(0o755)
	if fit.Release == nil {
		mode, dirMode = private, 0o700
	}
	if err := os.Mkdir(f.save, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return within("--save", err)
	}
	for chain := range draws.NumChains() {
		err := writeFile(f.drawsFile(chain), mode, func(w io.Writer) error { return draws.WriteStanCSV(w, chain, comments) })
		if err != nil {
			return err
		}
	}
	if err := f.writeRelease(fit.Release); err != nil {
		return err
	}
	return writeFile(f.summaryFile(), mode, summary.WriteJSON)
}

// comments say at the head of a file of draws where it comes from.
func (f *inferFlags) comments(fit *dpreg.Fit, summary *posterior.Summary) []string {
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
	if fit.Release != nil && fit.Release.Privacy != nil {
		p := fit.Release.Privacy
		lines = append(lines, fmt.Sprintf("privacy: epsilon = %v, delta = %v, %s", p.Epsilon, p.Delta, p.Neighbours))
	}
	for _, p := range summary.Parameters {
		if p.Label != p.Name {
			lines = append(lines, fmt.Sprintf("label: %s is %s", p.Name, strings.ReplaceAll(p.Label, "\n", " ")))
		}
	}
	for _, w := range summary.Warnings {
		lines = append(lines, "warning: "+w)
	}
	return lines
}
