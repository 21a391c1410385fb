// Package saved has the directory in which draws, their summary and the releases that they are of
// are kept: what dpreg infer --save writes, and predict and ask read.
package saved

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
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// Dir is the path of such a directory.
type Dir string

// Chain is the file of a chain's draws, counted from 0.
func (d Dir) Chain(chain int) string {
	return filepath.Join(string(d), fmt.Sprintf("draws-%d.csv", chain+1))
}

// Summary is the file of the summary.
func (d Dir) Summary() string { return filepath.Join(string(d), "summary.json") }

// Parquet is the file of all draws as one table.
func (d Dir) Parquet() string { return filepath.Join(string(d), "draws.parquet") }

// Comments say at the head of a file of draws where it comes from: of a fit, draws in units with
// a summary, and the program's version.
func Comments(fit *dpreg.Fit, draws *posterior.Draws, u dpreg.Units, summary *posterior.Summary, version string) []string {
	lines := []string{
		"dpreg " + version,
		"formula = " + fit.Design.Formula().String(),
		"units = " + string(u),
		"dpreg_method = " + fit.Method,
		fmt.Sprintf("seed = %d", fit.Plan.Seed),
	}
	if fit.Family != model.Normal {
		lines = append(lines, "family = "+string(fit.Family))
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
	labels := draws.Labels
	if labels == nil {
		labels = fit.StanLabels()
	}
	lines = append(lines, posterior.StanLabels(draws.Names, labels)...)
	for _, w := range summary.Warnings {
		lines = append(lines, "warning: "+w)
	}
	return lines
}

// releaseKey is that of the comment that names release j of several.
func releaseKey(j int) string { return fmt.Sprintf("release %d", j+1) }

// Release is the release in such a directory: that of the model, columns
// and bounds included. Its name is no release's that another command writes, so
// that --save beside one's data overwrites none that ε was spent on.
const Release = "draws-release.json"

// Release is its place.
func (d Dir) Release() string { return filepath.Join(string(d), Release) }

// releasesOf are the places of a fit's releases, in their order.
func (d Dir) releasesOf(custodians int) (paths []string) {
	if custodians == 1 {
		return []string{d.Release()}
	}
	for j := range custodians {
		paths = append(paths, filepath.Join(string(d), fmt.Sprintf("draws-release-%d.json", j+1)))
	}
	return paths
}

// FormerReleases are those of several that a former run saved.
func (d Dir) FormerReleases() (paths []string) {
	names, _ := fs.Glob(os.DirFS(string(d)), "draws-release-*.json") // the pattern is sound
	for _, name := range names {
		paths = append(paths, filepath.Join(string(d), name))
	}
	return paths
}

// WriteReleases saves the release that was inferred from, or the several. Those of a
// former run, which would be those of other draws, are taken away.
func (d Dir) WriteReleases(fit *dpreg.Fit) error {
	var err error
	former := append(d.FormerReleases(), d.Release())
	for j, path := range d.releasesOf(len(fit.Custodians)) {
		former = slices.DeleteFunc(former, func(other string) bool { return other == path })
		err = errors.Join(err, fit.Custodians[j].Release.WriteFile(path))
	}
	for _, path := range former {
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Write saves draws and summary, each file of a mode and all or nothing, and where parquet the draws
// as one table, too.
func (d Dir) Write(draws *posterior.Draws, summary *posterior.Summary, comments []string, mode fs.FileMode, parquet bool) error {
	if err := files.MakeDir(string(d), mode); err != nil {
		return err
	}
	for chain := range draws.NumChains() {
		err := files.Write(d.Chain(chain), mode, func(w io.Writer) error { return draws.WriteStanCSV(w, chain, comments) })
		if err != nil {
			return err
		}
	}
	if err := os.Remove(d.Parquet()); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a former run
		return err
	}
	if parquet {
		if err := files.Write(d.Parquet(), mode, func(w io.Writer) error { return WriteParquet(w, draws) }); err != nil {
			return err
		}
	}
	return files.Write(d.Summary(), mode, summary.WriteJSON)
}
