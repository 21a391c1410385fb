package release

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// A look at the rows is one measurement of their sums. In the box it is what
// dpreg-release/1 holds. In a frame, which what was released before it decides, rows are
//
//	u = W (v − c),   ũ = u min(1, R/‖u‖),
//
// v a row in scaled units, response last, and the statistics are Σũ_j and Σũ_jũ_k. With
// φ(u) = (κ², √2κu, uuᵀ) ⟨φ(a), φ(b)⟩ = (κ² + aᵀb)², so that in the norm of φ (Frobenius's:
// an entry off the diagonal counts twice)
//
//	replace-one  ‖φ(a) − φ(b)‖² ≤ 2(κ² + R²)²      add-remove  ‖φ(a)‖ ≤ κ² + R²,
//
// and noise that is isotropic in it has the scale of Noise on squares, 1/√2 of that on
// products of two columns, 1/(√2κ) of it on linear sums and 1/κ² of it on the number of
// rows; see docs/adaptive.md.
type Look struct {
	Frame      *Frame     `json:"frame,omitzero"` // nil: the box, and no clipping
	Radii      *Radii     `json:"radii,omitzero"` // by which R was chosen; nil: it was public
	N          int64      `json:"n,omitzero"`     // noisy; 0 where the number of rows is public
	NNoise     float64    `json:"n_noise,omitzero"`
	Noise      Noise      `json:"noise"`
	Statistics Statistics `json:"statistics"`
	Pooled     *Pooled    `json:"pooled,omitzero"` // whose sums these are; nil: one custodian's

	levels *Levels `json:"-"` // of the last look, where it has sums by levels
}

// Frame is where a look is taken: public, exact, in scaled units.
type Frame struct {
	Centre []float64   `json:"centre"` // c, m numbers
	Matrix [][]float64 `json:"matrix"` // W, lower triangular: row j has j+1 numbers, the last above 0
	Radius float64     `json:"radius"` // R
	Weight float64     `json:"weight"` // κ
	// Lost is about what clipping takes of Σ‖u‖², as the noisy radii tell, with their error:
	// it widens what is inferred.
	Lost float64 `json:"lost,omitzero"`
}

// Radii is a noisy histogram of ‖u‖² over the rows, before clipping: bin 0 holds those up to
// 2^(Least/2), bin i those between 2^((Least+i−1)/2) and 2^((Least+i)/2), and the last all
// beyond. Scale is that of the noise on each count: b of the discrete Laplace law where the
// release promises pure ε, else σ of the rounded Gaussian one.
type Radii struct {
	Least  int     `json:"least"`
	Counts []int64 `json:"counts"`
	Scale  float64 `json:"scale"`
}

// last is the look that the release is.
func (r *Release) last() Look {
	return Look{r.Frame, r.Radii, r.N, r.NNoise, r.Noise, r.Statistics, r.Pooled, r.Levels}
}

// Looks are all looks at the rows, in order: the release itself is the last.
func (r *Release) Looks() []Look { return append(slices.Clip(r.Steps), r.last()) }

// inLooks puts what f says of each look below its place in the file.
func (r *Release) inLooks(f func(l *Look) error) error {
	for i, l := range r.Looks() {
		err := f(&l)
		if i < len(r.Steps) {
			err = within("steps", within(index(i), err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withFrame is said of fields that the box has not.
const withFrame = "only in a release that has a \"frame\""

// validateLooks checks the looks but for claims, and that the file is one of a frame or of
// the box, not of both.
func (r *Release) validateLooks() error {
	switch {
	case r.Frame == nil && r.Format == FormatFrame:
		return within("frame", fmt.Errorf("missing; %q has one", FormatFrame))
	case r.Frame != nil && r.Format == Format:
		return within("frame", fmt.Errorf("only in %q and %q", FormatFrame, FormatLevels))
	case r.Frame == nil && r.Radii != nil:
		return within("radii", errors.New(withFrame))
	case r.Frame == nil && len(r.Steps) > 0:
		return within("steps", errors.New(withFrame))
	case r.Frame != nil && r.Moments != nil:
		return within("moments", errors.New("not with \"frame\": moments are those of the box"))
	case r.Frame != nil && len(r.Withheld) > 0:
		return within("withheld", errors.New("not with \"frame\", where no sum is of y alone"))
	}
	if err := within("noise", r.Noise.validate(r.Frame != nil)); err != nil || r.Frame == nil {
		return err
	}
	for i := range r.Steps {
		if err := r.Steps[i].validateStep(r); err != nil {
			return within("steps", within(index(i), err))
		}
	}
	return r.inLooks(func(l *Look) error { return l.validate(r.inFrame()) })
}

// validateStep checks what a look before the last has in another way than that, or of its own.
func (l *Look) validateStep(r *Release) error {
	noisy := r.Neighbours() == AddRemove
	switch {
	case l.Frame == nil:
		return within("frame", errors.New("missing; in the box the centre is 0, the matrix 1 and the radius √m"))
	case l.Noise.Kind != r.Noise.Kind:
		return within("noise", within("kind", fmt.Errorf("must be %q, that of the last look, not %q", r.Noise.Kind, l.Noise.Kind)))
	case !noisy && l.N != 0:
		return within("n", fmt.Errorf("only with \"neighbours\": %q, where each look has a noisy one", AddRemove))
	case l.N > maxN || l.N < -maxN:
		return within("n", fmt.Errorf("%d is out of range", l.N))
	case l.Statistics.SumYY == nil:
		return within("statistics", within("sum_yy", errors.New("must be a number")))
	}
	return cmp.Or(validateCountNoise(l.NNoise, noisy), within("statistics", l.Statistics.validate(r.inFrame()-1)))
}

// validate checks frame, radii and noise of a look at m columns.
func (l *Look) validate(m int) error {
	err := cmp.Or(within("frame", l.Frame.validate(m)), within("radii", l.Radii.validate()), within("noise", l.Noise.validate(true)))
	if err == nil {
		err = within("noise", l.isotropic(m))
	}
	return err
}

// isotropy is how far, relatively, noise may be from the isotropic one: what a decimal of
// seven digits leaves. The noise on a sub-model, a rotation, is that of the file only if it is.
const isotropy = 1e-6

// isotropic checks the scales of noise that Validate accepts otherwise.
func (l *Look) isotropic(m int) error {
	n, entries, linear := l.Noise, Length(m), l.Noise.Scale/(math.Sqrt2*l.Frame.Weight)
	if l.levels != nil { // linear sums have noise of their own
		entries, linear = entries-m, 0
	}
	for _, s := range []struct {
		field, what string
		has, want   float64
	}{
		{"cross", "scale/√2", n.Cross, n.Scale / math.Sqrt2},
		{"linear", "scale/(√2·weight)", n.Linear, linear},
	} {
		if !(math.Abs(s.has-s.want) <= isotropy*s.want) {
			return within(s.field, fmt.Errorf("must be %s = %v, not %v", s.what, s.want, s.has))
		}
	}
	return within("freedom", checkFreedom(n.Kind, n.Freedom, entries))
}

// checkFreedom checks that of noise on so many sums, or more of a model that this one is of.
func checkFreedom(kind Kind, freedom float64, entries int) error {
	least := entries + 1
	switch {
	case kind != Ball && freedom != 0:
		return fmt.Errorf("only where \"kind\" is %q", Ball)
	case kind == Ball && !(freedom >= float64(least) && freedom <= maxN && freedom == math.Trunc(freedom)):
		return fmt.Errorf("must be a whole number, one more than the sums that were noised as one vector, and so at least %d, not %v", least, freedom)
	}
	return nil
}

func (f *Frame) validate(m int) error {
	if len(f.Centre) != m {
		return within("centre", fmt.Errorf("must have %d entries, one for each column, not %d", m, len(f.Centre)))
	}
	if len(f.Matrix) != m {
		return within("matrix", fmt.Errorf("must have %d rows, one for each column, not %d", m, len(f.Matrix)))
	}
	for j, row := range f.Matrix {
		if err := cmp.Or(within("centre", within(index(j), checkFinite(f.Centre[j]))), within("matrix", within(index(j), checkTriangle(row, j)))); err != nil {
			return err
		}
	}
	switch {
	case !inRange(f.Radius):
		return within("radius", fmt.Errorf("must be from 2^-%d to 2^%d, not %v", geometryBits, geometryBits, f.Radius))
	case !inRange(f.Weight):
		return within("weight", fmt.Errorf("must be from 2^-%d to 2^%d, not %v", geometryBits, geometryBits, f.Weight))
	case f.Lost != 0 && !(f.Lost > 0 && f.Lost < 1e30):
		return within("lost", fmt.Errorf("must be a positive number below 1e30, not %v", f.Lost))
	}
	for j, c := range f.Centre {
		if !(math.Abs(c) <= 1) {
			return within("centre", within(index(j), fmt.Errorf("%v lies outside the box from -1 to 1", c)))
		}
	}
	for _, x := range append(f.Inverse(), slices.Concat(f.Matrix...)...) {
		if !(math.Abs(x) < 1<<(2*geometryBits)) {
			return within("matrix", errors.New("it or its inverse is beyond what a frame about rows in the box can be"))
		}
	}
	return nil
}

// geometryBits bound what a frame may be: a writer keeps to less.
const geometryBits = 24

func inRange(x float64) bool {
	return x >= 1./(1<<geometryBits) && x <= 1<<geometryBits
}

// checkTriangle checks row j of a lower triangular matrix.
func checkTriangle(row []float64, j int) error {
	if len(row) != j+1 {
		return fmt.Errorf("must have %d entries: the matrix is lower triangular, and what is right of the diagonal is left out; not %d", j+1, len(row))
	}
	for k, x := range row {
		if err := checkFinite(x); err != nil {
			return within(index(k), err)
		}
	}
	if row[j] <= 0 {
		return within(index(j), fmt.Errorf("must be positive, not %v: it is on the diagonal", row[j]))
	}
	return nil
}

// Beyond is the noisy number of rows with ‖u‖ beyond a radius, of the bins whose middle, by
// log ‖u‖, is, and the standard deviation of its noise where that on the sums is of this kind.
func (r *Radii) Beyond(radius float64, kind Kind) (rows, sd float64) {
	bins := 0.0
	for i, n := range r.Counts {
		if float64(r.Least+i)-0.5 > 4*math.Log2(radius) {
			rows, bins = rows+float64(n), bins+1
		}
	}
	if kind == Ball { // counts have Laplace noise then
		kind = Laplace
	}
	return rows, math.Sqrt(bins) * Noise{Kind: kind}.SDOf(r.Scale)
}

// maxRadii is the largest magnitude of 2·log₂ of an edge between bins.
const maxRadii = 2000

func (r *Radii) validate() error {
	switch {
	case r == nil:
		return nil
	case r.Least < -maxRadii || r.Least > maxRadii:
		return within("least", fmt.Errorf("must be in -%d … %d, not %d", maxRadii, maxRadii, r.Least))
	case len(r.Counts) < 2 || r.Least+len(r.Counts) > maxRadii:
		return within("counts", fmt.Errorf("must have at least 2 entries, and with %q no more than %d, not %d", "least", maxRadii, len(r.Counts)))
	case !positive(r.Scale):
		return within("scale", fmt.Errorf("must be a positive number up to 1e100, not %v", r.Scale))
	}
	for i, n := range r.Counts {
		if n > maxN || n < -maxN {
			return within("counts", within(index(i), fmt.Errorf("%d is out of range", n)))
		}
	}
	return nil
}
