package dpreg

import (
	"context"
	"errors"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// CheckOptions of Check.
type CheckOptions struct {
	// Calibrate is the number K of refits to replicated releases; 0 leaves p-values
	// uncalibrated.
	Calibrate int
	Seed      uint64
	// Workers is the number of refits at a time; 0 is GOMAXPROCS.
	Workers int
	// Progress, where not nil, is told how many refits of the K + 1 are done.
	Progress func(done, total int)
}

// CheckFormat is the version of a Check's file.
const CheckFormat = "dpreg-check/1"

// Check is a posterior predictive check of a release: z beside releases that the
// fitted model makes. All is in scaled units.
type Check struct {
	Format   string        `json:"format"`         // CheckFormat
	Name     string        `json:"name,omitempty"` // of the custodian, where there are several
	Method   string        `json:"method"`
	N        int64         `json:"n"`
	Draws    int           `json:"draws"`  // of the posterior, used for the check
	Refits   int           `json:"refits"` // K of the calibration; 0: none
	Entries  []CheckEntry  `json:"entries"`
	Blocks   []CheckBlock  `json:"blocks"` // the last one is of all sums
	Columns  []CheckColumn `json:"columns"`
	Warnings []string      `json:"warnings"`
}

// CheckEntry is one released sum.
type CheckEntry struct {
	Label string  `json:"label"` // x, x², x × w
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

// CheckBlock is a block of sums.
type CheckBlock struct {
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

// CheckColumn is the share of rows that the fitted normal law would put outside a
// column's public bounds, where no clamped row can lie: its posterior mean.
type CheckColumn struct {
	Label   string  `json:"label"`
	Outside float64 `json:"outside"`
}

// Checkable tells whether a method learns the law of the covariates, so that there
// is a fitted one to check.
func Checkable(method string) bool {
	return method == Auto || Traits(method).Covariates == model.LearntCovariates
}

// Check asks whether the release is one that the fitted model makes. For each draw
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
// Errors: several releases, which CheckJointly takes; a method that does not learn the
// law of the covariates or that models clamping, no release, a negative Calibrate, what
// Infer refuses, a context that is done.
func (f *Fit) Check(ctx context.Context, o CheckOptions) (*Check, error) {
	if f.Custodians != nil {
		return nil, errors.New("a fit of several releases is checked by CheckJointly")
	}
	c, err := f.CheckJointly(ctx, o)
	if err != nil {
		return nil, err
	}
	c.Releases[0].Warnings = c.Warnings
	return c.Releases[0], nil
}

// checkDraws are the draws that a check takes, at most 2000 and evenly spaced.
func (f *Fit) checkDraws() [][]float64 {
	const most = 2000
	rows := f.thinned(most)
	if step := (len(rows) + most - 1) / most; step > 1 { // thinned gives up to twice as many
		kept := rows[:0]
		for i := step - 1; i < len(rows); i += step {
			kept = append(kept, rows[i])
		}
		return kept
	}
	return rows
}

// describe is what c found of a release of the design d; p has the p-values of the
// entries and then of the blocks.
func (c *checker) describe(d *schema.Design, p []PValue) *Check {
	out := &Check{Format: CheckFormat, N: int64(c.obs.N), Draws: c.count, Warnings: []string{}}
	labels, frame := statisticLabels(d), d.Frame()
	blockOf := make([]string, len(labels))
	for _, b := range c.blocks[:len(c.blocks)-1] { // the last one has them all
		for _, e := range b.entries {
			blockOf[e] = b.name
		}
	}
	for e, z := range c.obs.Z {
		out.Entries = append(out.Entries, CheckEntry{Label: labels[e], Block: blockOf[e], Z: z, Replicated: c.replicated(e), PValue: p[e]})
	}
	for k, b := range c.blocks {
		out.Blocks = append(out.Blocks, CheckBlock{Name: b.name, Size: len(b.entries), PValue: p[len(labels)+k]})
	}
	for j, column := range d.Columns() {
		scaled := func(bound float64) float64 { return (bound - frame.Centre[j]) / frame.Half[j] }
		outside := c.columns[j].outside(scaled(column.Lower), scaled(column.Upper))
		out.Columns = append(out.Columns, CheckColumn{Label: column.Name, Outside: outside})
	}
	return out
}

// statisticLabels are in canonical order: x, y, x², x × y, y².
func statisticLabels(d *schema.Design) []string {
	columns := d.Columns()
	var labels []string
	for _, c := range columns {
		labels = append(labels, c.Name)
	}
	for j, c := range columns {
		labels = append(labels, c.Name+"²")
		for _, d := range columns[j+1:] {
			labels = append(labels, c.Name+" × "+d.Name)
		}
	}
	return labels
}

var errNoReplicate = errors.New("no draw of the posterior has a covariance matrix that rounding leaves definite: nothing can be replicated")
