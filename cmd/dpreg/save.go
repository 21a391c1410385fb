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
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/signature"
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

func (f *flags) drawsFile(chain int) string {
	return filepath.Join(f.save, fmt.Sprintf("draws-%d.csv", chain+1))
}

func (f *flags) summaryFile() string { return filepath.Join(f.save, "summary.json") }

func (f *flags) parquetFile() string { return filepath.Join(f.save, "draws.parquet") }

// checkSave looks, before anything is spent, whether files can be written to the
// directory of --save. Draws that a run with more chains left there would be taken
// for draws of this one. What the run itself reads or pays for, keep, is not to be
// overwritten.
func (f *flags) checkSave(keep inputs) error {
	if f.save == "" {
		return f.refuseGiven("names parquet", "--%s is of draws that --save DIR keeps, and there is no --save")
	}
	own := append(f.formerReleases(), f.summaryFile(), f.releaseFile(), f.parquetFile())
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

// makeDir makes a directory of files of a mode, unless it is there.
func makeDir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, mode|mode&0o444>>2); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// modeOfFit is that of a fit's files: what is not private only its owner may read.
func modeOfFit(fit *dpreg.Fit) fs.FileMode {
	if fit.FromRows() {
		return private
	}
	return public
}

// checkDraws refuses draws that would stay beside the run's own files.
func (f *flags) checkDraws(own []string) error {
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

// saveDraws saves draws and summary, each file all or nothing.
func (f *flags) saveDraws(draws *posterior.Draws, summary *posterior.Summary, comments []string, mode fs.FileMode) error {
	if err := makeDir(f.save, mode); err != nil {
		return within("--save", err)
	}
	for chain := range draws.NumChains() {
		err := files.Write(f.drawsFile(chain), mode, func(w io.Writer) error { return draws.WriteStanCSV(w, chain, comments) })
		if err != nil {
			return err
		}
	}
	if err := os.Remove(f.parquetFile()); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a former run
		return within("--save", err)
	}
	if f.parquet {
		if err := files.Write(f.parquetFile(), mode, draws.WriteParquet); err != nil {
			return err
		}
	}
	return files.Write(f.summaryFile(), mode, summary.WriteJSON)
}

// comments say at the head of a file of draws where it comes from.
func (f *flags) comments(fit *dpreg.Fit, draws *posterior.Draws, summary *posterior.Summary) []string {
	lines := []string{
		"dpreg " + signature.Version(),
		"formula = " + fit.Design.Formula().String(),
		"units = " + f.units,
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

// savedRelease is the release in a directory of --save: that of the model, columns
// and bounds included. Its name is no release's that another command writes, so
// that --save beside one's data overwrites none that ε was spent on.
const savedRelease = "draws-release.json"

func (f *flags) releaseFile() string { return filepath.Join(f.save, savedRelease) }

// releasesOf are the places of a fit's releases, in their order.
func (f *flags) releasesOf(custodians int) (paths []string) {
	if custodians == 1 {
		return []string{f.releaseFile()}
	}
	for j := range custodians {
		paths = append(paths, filepath.Join(f.save, fmt.Sprintf("draws-release-%d.json", j+1)))
	}
	return paths
}

// formerReleases are those of several that a former run saved.
func (f *flags) formerReleases() []string {
	paths, _ := filepath.Glob(filepath.Join(f.save, "draws-release-*.json")) // the pattern is sound
	return paths
}

// writeReleases saves the release that was inferred from, or the several. Those of a
// former run, which would be those of other draws, are taken away.
func (f *flags) writeReleases(fit *dpreg.Fit) error {
	var err error
	former := append(f.formerReleases(), f.releaseFile())
	for j, path := range f.releasesOf(len(fit.Custodians)) {
		former = slices.DeleteFunc(former, func(other string) bool { return other == path })
		err = errors.Join(err, fit.Custodians[j].Release.WriteFile(path))
	}
	for _, path := range former {
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, within("--save", gone))
		}
	}
	return err
}

// savedRun is what a directory of --save holds.
type savedRun struct {
	*evidence
	draws  *posterior.Draws // named as Fit.StanDraws
	units  dpreg.Units
	family model.Family
	files  []string // that it was read from
}

// readSaved reads such a directory.
func readSaved(dir string) (*savedRun, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, usagef("--draws: there is no directory %s; give the one that `dpreg infer --save DIR` wrote", dir)
	}
	releases := savedReleases(dir)
	if releases == nil {
		return nil, usagef("--draws: %s has no %s, which tells columns and bounds: `dpreg infer --save DIR` writes it, but for --method %s", dir, savedRelease, nonPrivate)
	}
	var custodians []dpreg.Custodian
	for _, path := range releases {
		r, err := release.ReadFile(path)
		if err != nil {
			return nil, within("--draws", usage(err))
		}
		custodians = append(custodians, dpreg.Custodian{Name: path, Release: r})
	}
	e, err := join(custodians)
	if err != nil {
		return nil, within("--draws", err)
	}
	chains, err := chainFiles(dir)
	run := &savedRun{evidence: e, files: append(chains, releases...)}
	if err == nil {
		err = run.readChains(chains)
	}
	return run, within("--draws", usage(err))
}

// savedReleases are draws-release.json or draws-release-1.json and so on; nil where
// there are none.
func savedReleases(dir string) []string {
	f := &flags{save: dir}
	if _, err := os.Stat(f.releaseFile()); err == nil {
		return []string{f.releaseFile()}
	}
	return f.releasesOf(len(f.formerReleases()))
}

// chainFiles are draws-1.csv, draws-2.csv and so on, and no others.
func chainFiles(dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "draws-*.csv"))
	if err != nil {
		return nil, err
	}
	var chains []string
	for k := range found {
		chains = append(chains, filepath.Join(dir, fmt.Sprintf("draws-%d.csv", k+1)))
		if _, err := os.Stat(chains[k]); err != nil {
			return nil, fmt.Errorf("%d files of draws are in %s, and draws-%d.csv is not among them: %w", len(found), dir, k+1, files.Plain(err))
		}
	}
	if chains == nil {
		return nil, fmt.Errorf("%s has no draws-1.csv; `dpreg infer --save DIR` writes it", dir)
	}
	return chains, nil
}

// readChains reads the draws, which must all be of the release's model.
func (s *savedRun) readChains(paths []string) error {
	var parts []*posterior.Draws
	for _, path := range paths {
		d, comments, err := readChain(path)
		if err != nil {
			return err
		}
		if got, want := comments["formula"], s.design.Formula().String(); got != want {
			return fmt.Errorf("%s is of the model %q, and the release beside it of %q: they are of two runs", path, got, want)
		}
		if err := s.named(comments); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		units := dpreg.Units(comments["units"])
		if units != dpreg.Original && units != dpreg.Scaled {
			return fmt.Errorf("%s does not say its units (%s or %s) in a comment: it is no file of `dpreg infer --save`", path, dpreg.Original, dpreg.Scaled)
		}
		if len(parts) > 0 && units != s.units {
			return fmt.Errorf("%s is in %s units, the chains before it in %s ones", path, units, s.units)
		}
		s.units, s.family, parts = units, model.Family(comments["family"]), append(parts, d)
	}
	var err error
	if s.draws, err = posterior.Bind(parts...); err != nil {
		return fmt.Errorf("%s: %w", filepath.Dir(paths[0]), err)
	}
	if s.design.Intercept {
		for j, name := range s.draws.Names {
			s.draws.Names[j] = fromZero(name)
		}
	}
	return nil
}

// named gives custodians the names that a file of draws has for them.
func (s *savedRun) named(comments map[string]string) error {
	count := 0
	for comments[releaseKey(count)] != "" {
		count++
	}
	if len(s.custodians) == 1 && count == 0 {
		return nil
	}
	if count != len(s.custodians) {
		return fmt.Errorf("it is of %d releases, and %d are beside it: they are of two runs", max(count, 1), len(s.custodians))
	}
	for j := range s.custodians {
		s.custodians[j].Name = comments[releaseKey(j)]
	}
	return nil
}

// releaseKey is that of the comment that names release j of several.
func releaseKey(j int) string { return fmt.Sprintf("release %d", j+1) }

// fromZero counts coefficients from that of the intercept, 0, which files count from 1.
func fromZero(name string) string {
	p, ok := model.ParseParameter(name)
	if !ok {
		return name
	}
	switch p.Kind {
	case model.Theta, model.RootOmega, model.ThetaAt:
		p.K--
	case model.Omega:
		p.K, p.L = p.K-1, p.L-1
	}
	return p.Name()
}

// readChain reads a file of draws, and its comments of the form "key = value", of
// which the first of a key stands: what follows may be a column's label.
func readChain(path string) (*posterior.Draws, map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	d, lines, err := posterior.ReadStanCSV(file, path)
	comments := make(map[string]string)
	for _, line := range lines {
		key, value, _ := strings.Cut(line, " = ")
		if _, ok := comments[key]; !ok {
			comments[key] = value
		}
	}
	return d, comments, err
}
