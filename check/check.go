// Package check asks whether releases are such as the fitted model makes: a posterior
// predictive check.
package check

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Options of Fit.
type Options struct {
	// Calibrate is the number K of refits to replicated releases; 0 leaves p-values
	// uncalibrated.
	Calibrate int
	Seed      uint64
	// Workers is the number of refits at a time; 0 is GOMAXPROCS.
	Workers int
	// Progress, where not nil, is told how many refits of the K + 1 are done.
	Progress func(done, total int)
}

// Format is the version of a Check's file.
const Format = "dpreg-check/1"

// SeveralFormat is that of several releases'.
const SeveralFormat = "dpreg-joint-check/1"

// Result is a posterior predictive check: each release beside those that the fitted model
// makes.
type Result struct {
	Format     string       `json:"format"` // SeveralFormat
	Method     string       `json:"method"`
	Family     model.Family `json:"family,omitzero"` // of the response
	N          int64        `json:"n"`
	Pooling    string       `json:"pooling"` // of several releases, like Covariates
	Covariates string       `json:"covariates"`
	Draws      int          `json:"draws"`
	Refits     int          `json:"refits"`
	// All is of all sums of all releases.
	All      PValue     `json:"all"`
	Releases []*Release `json:"releases"`
	Warnings []string   `json:"warnings"`
}

// Release is the check of one release: z beside replicates. All is in its own scaled
// units.
type Release struct {
	Format   string       `json:"format"`         // Format
	Name     string       `json:"name,omitempty"` // of the custodian, where there are several
	Method   string       `json:"method"`
	Family   model.Family `json:"family,omitzero"`
	N        int64        `json:"n"`
	Draws    int          `json:"draws"`  // of the posterior, used for the check
	Refits   int          `json:"refits"` // K of the calibration; 0: none
	InFrame  bool         `json:"in_frame,omitempty"`
	Entries  []Entry      `json:"entries"`
	Blocks   []Block      `json:"blocks"` // the last one is of all sums
	Columns  []Column     `json:"columns"`
	Warnings []string     `json:"warnings"`
}

// Entry is one released sum.
type Entry struct {
	Label string  `json:"label"` // x, x², x × w; in a frame u(x), …: x less what the columns before it tell, in the frame's units
	Block string  `json:"block"`
	Z     float64 `json:"z"` // as released
	Replicated
	PValue
}

// Replicated is the law of a sum in replicated releases.
type Replicated struct {
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Q2_5  float64 `json:"q2.5"`
	Q25   float64 `json:"q25"`
	Q50   float64 `json:"q50"`
	Q75   float64 `json:"q75"`
	Q97_5 float64 `json:"q97.5"`
}

// Block is a block of sums.
type Block struct {
	Name string `json:"name"`
	Size int    `json:"size"`
	PValue
}

// PValue is a posterior predictive p-value, which under the model is not uniform
// but lies around ½, and its rank among those of releases that the model made,
// which nearly is: (1 + number of theirs not larger)/(K + 1). Calibrated is nil
// where there was no calibration.
type PValue struct {
	P          float64  `json:"p"`
	Calibrated *float64 `json:"calibrated"`
}

// Column is the share of rows that the fitted normal law would put outside a
// column's public bounds, where no clamped row can lie: its posterior mean.
type Column struct {
	Label   string  `json:"label"`
	Outside float64 `json:"outside"`
}

// Can is an error where a check has no law of the sums of releases.
func Can(custodians []dpreg.Custodian) error {
	for _, c := range custodians {
		if c.Release.Levels.PerLevel() {
			return errors.New("a check has no law of products per level (--per-level): check the release of a model by --by-level alone")
		}
	}
	return nil
}

// Fit asks of a fit whether each release is one that the fitted model makes. For each draw
// φ of the posterior it draws replicated statistics from their exact law given φ
// and adds noise of the release's law: z_rep. With E z = nμ_t and Cov z = nΣ_t + Ω
// given φ, Ω the noise's covariance, an entry's discrepancy is
//
//	T_e(z, φ) = |z_e − E z_e| / sd(z_e),
//
// and that of a block b of entries
//
//	T_b(z, φ) = (z_b − E z_b)ᵀ Cov(z_b)⁻¹ (z_b − E z_b);
//
// p is the posterior predictive p-value P(T(z_rep, φ) ≥ T(z, φ) | z) (Gelman, Meng
// & Stern 1996, Statistica Sinica 6, 733–807). z has been used to find φ, so p lies
// nearer to ½ than a uniform variable. The calibration refits the model to K
// releases simulated at draws of the posterior, and to z in the same way, and ranks
// z's p-value among theirs (Hjort, Dahl & Steinbakk 2006, JASA 101, 1157–1174, who
// simulate from the prior). Given φ, z and a release simulated at φ are
// exchangeable, so that the mean of that rank is ½ under the model; docs/checks.md
// has what is known of its law, and of its power.
//
// Of several releases each draw replicates all, each refit is of all, and the discrepancy of
// all is the sum of theirs: whether the regression, which they share or which is pooled
// partially, makes them. Where the covariates are shared, so is their law here, and a release
// whose covariates are others is found too. Where they are separate, draws leave out each
// custodian's law (μ_x, T)_j; it is then that of the release alone, whatever the others say of
// the regression: a cut of the joint posterior (Plummer 2015, Statistics and Computing 25),
//
//	p(θ_j, σ_j | z_1 … z_J) p(μ_x, T, n | z_j).
//
// Errors: a method that does not learn the law of the covariates or that models clamping, no
// release, several of the same rows, a negative Calibrate, what Infer refuses, a context that
// is done.
func Fit(ctx context.Context, f *dpreg.Fit, o Options) (*Result, error) {
	if f.FromRows() || !dpreg.Checkable(f.Method) {
		return nil, fmt.Errorf("method %s does not learn the law of the covariates, so that there is no fitted one to check", f.Method)
	}
	if err := Can(f.Custodians); err != nil {
		return nil, err
	}
	if f.SameRows() {
		return nil, errors.New("a check is of custodians, or of one release: check each release of the same rows by itself")
	}
	if f.ModelClamping {
		return nil, errors.New("a check simulates rows that nothing was clamped of: fit without modelling the clamping")
	}
	if o.Calibrate < 0 {
		return nil, fmt.Errorf("%d refits: the number cannot be negative", o.Calibrate)
	}
	c, err := newCheckers(f.Custodians, f.Family, f.Kurtosis())
	if err != nil {
		return nil, err
	}
	draws, warnings, err := drawsOf(ctx, f)
	if err != nil {
		return nil, err
	}
	values, err := c.run(ctx, draws, mcmc.Stream(o.Seed, 0))
	if err != nil {
		return nil, err
	}
	p := make([]PValue, len(values))
	for i, v := range values {
		p[i].P = v
	}
	if o.Calibrate > 0 {
		ranks, err := calibrate(ctx, f, o, draws)
		if err != nil {
			return nil, err
		}
		for i := range p {
			p[i].Calibrated = &ranks[i]
		}
	}
	out := &Result{Format: SeveralFormat, Method: f.Method, Family: f.Family, N: f.N, Draws: c.sites[0].count, Refits: o.Calibrate, All: p[len(p)-1]}
	out.Covariates, out.Pooling = f.Sharing()
	for j, site := range c.sites {
		check := site.describe(f.Custodians[j].Release, p[c.at[j]:c.at[j+1]])
		check.Name, check.Method, check.Family, check.Refits = f.Custodians[j].Name, f.Method, f.Family, o.Calibrate
		out.Releases = append(out.Releases, check)
	}
	out.Warnings = append(append([]string{}, f.Draws(dpreg.Scaled).Warnings...), warnings...)
	if c.skipped > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d draws were left out because rounding left a matrix indefinite", c.skipped))
	}
	return out, nil
}

// describe is what c found of a release; p has the p-values of the entries and then of the blocks.
func (c *checker) describe(r *release.Release, p []PValue) *Release {
	d := &r.Schema
	out := &Release{Format: Format, N: int64(c.obs.N), Draws: c.count, InFrame: r.Frame != nil, Warnings: []string{}}
	names, frame := columnNames(d, out.InFrame), d.Frame()
	var levels []string
	if !c.levels.plain {
		levels = r.LevelNames()
	}
	labels := c.levels.labels(levels, names)
	blockOf := make([]string, len(labels))
	for _, b := range c.blocks[:len(c.blocks)-1] { // the last one has them all
		for _, e := range b.entries {
			blockOf[e] = b.name
		}
	}
	for e, z := range c.z {
		if e == c.levels.known {
			continue
		}
		out.Entries = append(out.Entries, Entry{Label: labels[e], Block: blockOf[e], Z: z, Replicated: c.replicated(e), PValue: p[e]})
	}
	for k, b := range c.blocks {
		out.Blocks = append(out.Blocks, Block{Name: b.name, Size: len(b.entries), PValue: p[len(labels)+k]})
	}
	for j, column := range d.Columns()[:len(c.columns)] {
		if c.columns[j].laws == nil { // a dummy's
			continue
		}
		scaled := func(bound float64) float64 { return (bound - frame.Centre[j]) / frame.Half[j] }
		outside := c.columns[j].outside(scaled(column.Lower), scaled(column.Upper))
		out.Columns = append(out.Columns, Column{Label: column.Name, Outside: outside})
	}
	return out
}

// columnNames are those of the columns, in a frame of its coordinates: u(x) for column x.
func columnNames(d *schema.Design, framed bool) (names []string) {
	for _, c := range d.Columns() {
		if framed {
			c.Name = "u(" + c.Name + ")"
		}
		names = append(names, c.Name)
	}
	return names
}

var errNoReplicate = errors.New("no draw of the posterior has a covariance matrix that rounding leaves definite: nothing can be replicated")

// WriteJSON writes the check, indented, numbers in full precision: that of one release as
// dpreg-check/1, of several as dpreg-joint-check/1, each of them as in dpreg-check/1;
// "calibrated" is null where there was no calibration.
func (c *Result) WriteJSON(w io.Writer) error {
	var v any = c
	if len(c.Releases) == 1 {
		one := *c.Releases[0]
		one.Warnings, v = c.Warnings, &one
	}
	return number.Lines(w, v)
}

var checkHeader = []string{"kind", "label", "block", "z", "mean", "sd", "q2.5", "q25", "q50", "q75", "q97.5", "p", "calibrated", "outside"}

// WriteCSV writes a line for each entry, block and column, told apart by the first
// field; NA stands where a number does not exist. Of several releases each line stands
// behind the release's name, and the last one is of all sums of all.
func (c *Result) WriteCSV(w io.Writer) error {
	if len(c.Releases) == 1 {
		return csv.NewWriter(w).WriteAll(append([][]string{checkHeader}, c.Releases[0].records()...))
	}
	records := [][]string{append([]string{"release"}, checkHeader...)}
	for _, r := range c.Releases {
		for _, record := range r.records() {
			records = append(records, append([]string{r.Name}, record...))
		}
	}
	all := append([]string{na}, blockRecord(Block{Name: "all releases", PValue: c.All})...)
	return csv.NewWriter(w).WriteAll(append(records, all))
}

const na = "NA"

func (c *Release) records() (records [][]string) {
	for _, e := range c.Entries {
		values := number.CSVs(e.Z, e.Mean, e.SD, e.Q2_5, e.Q25, e.Q50, e.Q75, e.Q97_5, e.P)
		records = append(records, slices.Concat([]string{"entry", e.Label, e.Block}, values, []string{number.CSV(number.Known(e.Calibrated)), na}))
	}
	for _, b := range c.Blocks {
		records = append(records, blockRecord(b))
	}
	for _, column := range c.Columns {
		records = append(records, []string{"column", column.Label, na, na, na, na, na, na, na, na, na, na, na, number.CSV(column.Outside)})
	}
	return records
}

func blockRecord(b Block) []string {
	return []string{"block", b.Name, b.Name, na, na, na, na, na, na, na, na, number.CSV(b.P), number.CSV(number.Known(b.Calibrated)), na}
}
