package saved

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Run is what such a directory holds; without draws, what they are to be made from.
type Run struct {
	Custodians []dpreg.Custodian // arranged alike
	Design     *schema.Design    // of all, in common units
	Draws      *posterior.Draws  // named as Fit.StanDraws; nil: not yet
	Units      dpreg.Units
	Family     model.Family
	Files      []string // that it was read from
}

// Read reads a directory. Errors: what is missing, or of another run.
func (d Dir) Read() (*Run, error) {
	info, err := os.Stat(string(d))
	if err != nil || !info.IsDir() {
		return nil, fmt.Errorf("there is no directory %s; give the one that `dpreg infer --save DIR` wrote", d)
	}
	releases := d.releases()
	if releases == nil {
		return nil, fmt.Errorf("%s has no %s, which tells columns and bounds: `dpreg infer --save DIR` writes it, but for --method non-private", d, Release)
	}
	var custodians []dpreg.Custodian
	for _, path := range releases {
		r, err := release.ReadFile(path)
		if err != nil {
			return nil, err
		}
		custodians = append(custodians, dpreg.Custodian{Name: path, Release: r})
	}
	run := &Run{}
	if run.Custodians, run.Design, err = dpreg.Join(custodians); err != nil {
		return nil, err
	}
	chains, err := d.chains()
	if err != nil {
		return nil, err
	}
	run.Files = append(chains, releases...)
	return run, run.readChains(chains)
}

// OneDealing tells whether the custodians are parts that rows were dealt to.
func (r *Run) OneDealing() bool { return release.OneDealing(dpreg.Releases(r.Custodians)...) }

// releases are draws-release.json or draws-release-1.json and so on; nil where
// there are none.
func (d Dir) releases() []string {
	if _, err := os.Stat(d.Release()); err == nil {
		return []string{d.Release()}
	}
	return d.releasesOf(len(d.FormerReleases()))
}

// chains are draws-1.csv, draws-2.csv and so on, and no others.
func (d Dir) chains() ([]string, error) {
	found, _ := fs.Glob(os.DirFS(string(d)), "draws-*.csv") // the pattern is sound
	var chains []string
	for k := range found {
		chains = append(chains, d.Chain(k))
		if _, err := os.Stat(chains[k]); err != nil {
			return nil, fmt.Errorf("%d files of draws are in %s, and draws-%d.csv is not among them: %w", len(found), d, k+1, files.Plain(err))
		}
	}
	if chains == nil {
		return nil, fmt.Errorf("%s has no draws-1.csv; `dpreg infer --save DIR` writes it", d)
	}
	return chains, nil
}

// readChains reads the draws, which must all be of the release's model.
func (r *Run) readChains(paths []string) error {
	var parts []*posterior.Draws
	for _, path := range paths {
		d, comments, err := readChain(path)
		if err != nil {
			return err
		}
		if got, want := comments["formula"], r.Design.Formula().String(); got != want {
			return fmt.Errorf("%s is of the model %q, and the release beside it of %q: they are of two runs", path, got, want)
		}
		if err := r.named(comments); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		units := dpreg.Units(comments["units"])
		if units != dpreg.Original && units != dpreg.Scaled {
			return fmt.Errorf("%s does not say its units (%s or %s) in a comment: it is no file of `dpreg infer --save`", path, dpreg.Original, dpreg.Scaled)
		}
		if len(parts) > 0 && units != r.Units {
			return fmt.Errorf("%s is in %s units, the chains before it in %s ones", path, units, r.Units)
		}
		r.Units, r.Family, parts = units, model.Family(comments["family"]), append(parts, d)
	}
	var err error
	if r.Draws, err = posterior.Bind(parts...); err != nil {
		return fmt.Errorf("%s: %w", filepath.Dir(paths[0]), err)
	}
	if r.Design.Intercept {
		for j, name := range r.Draws.Names {
			r.Draws.Names[j] = fromZero(name)
		}
	}
	return nil
}

// named gives custodians the names that a file of draws has for them.
func (r *Run) named(comments map[string]string) error {
	count := 0
	for comments[releaseKey(count)] != "" {
		count++
	}
	if len(r.Custodians) == 1 && count == 0 {
		return nil
	}
	if count != len(r.Custodians) {
		return fmt.Errorf("it is of %d releases, and %d are beside it: they are of two runs", max(count, 1), len(r.Custodians))
	}
	for j := range r.Custodians {
		r.Custodians[j].Name = comments[releaseKey(j)]
	}
	return nil
}

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

// Summary reads of summary.json, where it is there, the prior of the draws, nil where it has none, and
// whether their chains failed a diagnostic.
func (r *Run) Summary(path string) (prior *model.Prior, failed bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	var read struct {
		Prior     json.RawMessage
		Converged *bool
	}
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	failed = read.Converged != nil && !*read.Converged
	if len(read.Prior) == 0 || string(read.Prior) == "null" {
		return nil, failed, nil
	}
	base, err := r.Family.DefaultPrior(r.Design)
	if err == nil {
		prior, err = base.Read(bytes.NewReader(read.Prior), path+": prior", r.Family.Design(r.Design), "")
	}
	return prior, failed, err
}
