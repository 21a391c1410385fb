// Package release holds the one thing that leaves the custodian: the noisy
// sufficient statistics of a Bayesian linear regression, with the public
// facts needed to infer from them. It reads and writes the file
// (dpreg-release/1 and /2, see docs/release-format.md), checks it strictly, and
// selects sub-models from it.
//
// Everything here is public. The package sees no row of data.
package release

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/schema"
)

// Format is the version of a release in the box, and FormatFrame that of one in a frame; see
// FormatLevels.
const (
	Format      = "dpreg-release/1"
	FormatFrame = "dpreg-release/2"
)

// Neighbours says which two data sets privacy must not tell apart.
type Neighbours string

const (
	// ReplaceOne: one row is replaced by another; n is public.
	ReplaceOne Neighbours = "replace-one"
	// AddRemove: one row more or less; n is released with noise.
	AddRemove Neighbours = "add-remove"
)

// Kind is the law of the noise.
type Kind string

const (
	// Laplace noise of scale b, density exp(-|r|/b)/(2b).
	Laplace Kind = "laplace"
	// Gaussian noise; the scale is its standard deviation.
	Gaussian Kind = "gaussian"
	// Ball noise: √V times independent normal noise of these scales, V of the χ² law of
	// Freedom degrees. With one degree more than entries e_i of scales s_i its density is
	// proportional to exp(−‖(e_i/s_i)‖₂).
	Ball Kind = "ball"
)

// Privacy is what the release promises: (Epsilon, Delta)-differential privacy
// for these neighbours.
type Privacy struct {
	Epsilon    float64    `json:"epsilon"`
	Delta      float64    `json:"delta"`
	Neighbours Neighbours `json:"neighbours"`
}

// Noise is the noise on every entry of the statistics, in scaled units: independent from one
// entry to the next, but for Ball. Sensitivity (L1 for Laplace, L2 for
// Gaussian and Ball) and Lattice (the spacing on which the noise was drawn) are zero
// where the file does not state them.
//
// In a frame Scale is that on squares; Cross is that on products of two columns and Linear
// that on linear sums. They are zero elsewhere, where all have Scale.
type Noise struct {
	Kind        Kind    `json:"kind"`
	Scale       float64 `json:"scale"`
	Cross       float64 `json:"cross,omitzero"`
	Linear      float64 `json:"linear,omitzero"`
	Freedom     float64 `json:"freedom,omitzero"` // of Ball: one more than the entries that were noised
	Sensitivity float64 `json:"sensitivity,omitzero"`
	Lattice     float64 `json:"lattice,omitzero"`
}

// SD is the standard deviation of the noise on squares.
func (n Noise) SD() float64 { return n.SDOf(n.Scale) }

// SDOf is the standard deviation of noise of this law and another scale: √2·b for Laplace
// noise of scale b.
func (n Noise) SDOf(scale float64) float64 {
	switch n.Kind {
	case Laplace:
		return math.Sqrt2 * scale
	case Ball:
		return math.Sqrt(n.Freedom) * scale
	}
	return scale
}

// Release is a published set of noisy statistics.
//
// N is the number of rows. For replace-one neighbours it is public and exact;
// for add-remove neighbours it is the noisy count, whose noise has the scale
// NNoise, and then it may be any integer.
type Release struct {
	Format     string        `json:"format"`
	Simulated  bool          `json:"simulated,omitzero"` // the noise came from a seed: for studies only
	Schema     schema.Design `json:"schema"`
	Privacy    *Privacy      `json:"privacy,omitzero"` // nil: a file written by hand that does not say
	Bounds     *Bounds       `json:"bounds,omitzero"`  // nil: all bounds are public knowledge
	Persons    *Persons      `json:"persons,omitzero"` // nil: Privacy is of rows
	Pooled     *Pooled       `json:"pooled,omitzero"`  // nil: of one custodian
	Part       *Part         `json:"part,omitzero"`    // nil: of all rows
	N          int64         `json:"n"`
	NNoise     float64       `json:"n_noise,omitzero"`
	Noise      Noise         `json:"noise"`
	Levels     *Levels       `json:"levels,omitzero"` // what has noise where statistics follow from sums by levels; nil: they have it
	Statistics Statistics    `json:"statistics"`
	Withheld   []string      `json:"withheld,omitempty"` // WithheldYY or nothing
	Frame      *Frame        `json:"frame,omitzero"`     // of the statistics; nil: the box
	Radii      *Radii        `json:"radii,omitzero"`     // see Look
	Steps      []Look        `json:"steps,omitempty"`    // looks before this one, which found the frame
	Moments    *Moments      `json:"moments,omitzero"`   // of the covariates; nil: none were released
}

// Dim is m, the number of columns: the covariates and the response.
func (r *Release) Dim() int { return len(r.Schema.Covariates) + 1 }

// WithheldYY stands in Withheld where the release leaves Σy² out.
const WithheldYY = "yy"

// WithoutYY tells whether Σy² is withheld.
func (r *Release) WithoutYY() bool { return r.Statistics.SumYY == nil }

// Neighbours is the relation the release states, or ReplaceOne where it
// states none (Privacy is nil); Warnings then says so.
func (r *Release) Neighbours() Neighbours {
	if r.Privacy == nil {
		return ReplaceOne
	}
	return r.Privacy.Neighbours
}

// Warnings says what a reader of the release should know before trusting it,
// a sentence each: none for a release that dpreg made from data.
func (r *Release) Warnings() []string {
	var w []string
	if r.Simulated {
		w = append(w, "the noise of this release is simulated from a seed: it protects nobody")
	}
	if r.Privacy == nil {
		w = append(w, "this release states no privacy: replace-one neighbours and a public n are assumed")
	} else if r.onTrust() {
		w = append(w, r.unstatedSensitivity())
	}
	return append(w, r.Persons.warnings()...)
}

func (r *Release) unstatedSensitivity() string {
	claim, restricted := fmt.Sprintf("epsilon %v", r.Privacy.Epsilon), "values are restricted by their bounds"
	if r.Noise.Kind == Gaussian {
		claim += fmt.Sprintf(" and delta %v", r.Privacy.Delta)
	}
	var err error
	switch {
	case r.Frame != nil:
		restricted, err = "rows are restricted by their radius", r.frameClaim()
	case r.Noise.Kind == Gaussian:
		err = r.gaussianClaim(root(r.least(r.vector())))
	default:
		err = r.laplaceClaim(relax(r.least(r.vector())))
	}
	if err != nil {
		return "this release states no sensitivity, and its noise is too small for " + claim + " if " + restricted + " alone"
	}
	return "this release states no sensitivity: its privacy is taken on trust"
}

// Answers tells whether the release is what a release of the columns d with
// privacy p, noise of this kind and so many looks at the rows would be, so that it can serve again at no
// further cost. It returns nil if so, otherwise an error that names the first
// difference.
func (r *Release) Answers(d *schema.Design, p Privacy, kind Kind, looks int) error {
	switch {
	case r.Simulated:
		return fmt.Errorf("its noise is simulated")
	case r.Privacy == nil:
		return fmt.Errorf("it states no privacy")
	}
	has, asked := facts(&r.Schema, *r.Privacy, r.Noise.Kind, len(r.Looks())), facts(d, p, kind, looks)
	for i := range min(len(has), len(asked)) {
		if has[i] != asked[i] {
			return fmt.Errorf("it has %s %s, not %s", asked[i].of, has[i].is, asked[i].is)
		}
	}
	return nil
}

// fact is something that a release states.
type fact struct{ of, is string }

// facts are those that must be the same. Where the names of columns are, the others are of
// the same columns.
func facts(d *schema.Design, p Privacy, kind Kind, looks int) []fact {
	columns := d.Columns()
	all := []fact{
		{"looks at the rows:", fmt.Sprint(looks)},
		{"epsilon", fmt.Sprint(p.Epsilon)}, {"delta", fmt.Sprint(p.Delta)}, {"neighbours", string(p.Neighbours)}, {"noise", string(kind)},
		{"an intercept:", fmt.Sprint(d.Intercept)}, {"columns, in this order,", fmt.Sprintf("%q", schema.Names(columns))},
	}
	for _, c := range columns {
		bounds, coded := fmt.Sprintf("column %q with bounds", c.Name), fmt.Sprintf("column %q as", c.Name)
		all = append(all, fact{bounds, fmt.Sprintf("%v:%v", c.Lower, c.Upper)}, fact{coded, fmt.Sprintf("%s of factor %q, level %q", cmp.Or(c.Type, "number"), c.Factor, c.Level)})
	}
	for _, s := range d.Sources {
		all = append(all, fact{fmt.Sprintf("terms of %q within", s.Name), fmt.Sprintf("%v:%v", s.Lower, s.Upper)})
	}
	for _, f := range d.Factors {
		all = append(all, fact{fmt.Sprintf("factor %q with levels", f.Name), fmt.Sprintf("%q", f.Levels)})
	}
	return all
}
