package schema

import (
	"fmt"
	"math"
	"slices"
)

// Frame is the affine map between the data's units and scaled units, in the order
// of v = (x_1, ..., x_p, y), m = p+1:
//
//	v_scaled = (v - Centre) / Half ∈ [-1, 1].
//
// With an intercept, Centre and Half are the middle and half the width of the box.
// Without one a shift would bring an intercept back, so columns are only scaled:
// Centre = 0 and Half = max(|lower|, |upper|); the box still lies inside [-1, 1].
type Frame struct {
	Labels       []string  // m names of columns
	Centre, Half []float64 // length m, the data's units
	Intercept    bool

	lower, upper []float64 // the box; nil: Centre ± Half
}

// Frame returns the maps of a design that Validate accepts.
func (d *Design) Frame() Frame {
	columns := d.Columns()
	m := len(columns)
	f := Frame{
		Labels: make([]string, m), Intercept: d.Intercept,
		Centre: make([]float64, m), Half: make([]float64, m),
		lower: make([]float64, m), upper: make([]float64, m),
	}
	for j, c := range columns {
		f.Labels[j], f.lower[j], f.upper[j] = c.Name, c.Lower, c.Upper
		if !d.Intercept {
			f.Half[j] = max(math.Abs(c.Lower), math.Abs(c.Upper))
			continue
		}
		// Halves first, so that no sum overflows; the conversions keep the
		// compiler from fusing, and so the bits the same everywhere.
		f.Centre[j] = float64(c.Upper/2) + float64(c.Lower/2)
		f.Half[j] = float64(c.Upper/2) - float64(c.Lower/2)
	}
	return f
}

// Scale clamps row, in the data's units, to the box and writes it to dst in scaled
// units, exactly inside [-1, 1]. NaN stays NaN. Both have length m (else it
// panics) and may be the same slice. The bits are the same on every architecture.
func (f Frame) Scale(dst, row []float64) {
	m := len(f.Half)
	mustLen("row", len(row), m)
	mustLen("dst", len(dst), m)
	for j, v := range row {
		if f.lower != nil {
			v = max(f.lower[j], min(f.upper[j], v))
		}
		// A difference and a quotient: there is nothing to fuse. Rounding may
		// carry a value at the edge one ulp out, hence the second clamp.
		dst[j] = max(-1, min(1, (v-f.Centre[j])/f.Half[j]))
	}
}

func mustLen(what string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("schema: %s has length %d, want %d", what, got, want))
	}
}

// Hull returns the design that several designs of the same columns share: the
// columns in the order of the first, matched by name, each with the smallest box
// that holds all of theirs. Its scaled units are the designs' common units. Names
// are those of the designs' files, for errors.
//
// Errors, which name both files: another response, a column that one has and the
// other has not, a number here and a truth value or a dummy there, other levels of
// a factor or the same in another order, an intercept in one alone. It panics
// unless there is a name for each of one design or more.
func Hull(names []string, designs []*Design) (*Design, error) {
	mustLen("names", len(names), len(designs))
	hull := *designs[0]
	hull.Covariates, hull.Factors = slices.Clone(hull.Covariates), slices.Clone(hull.Factors)
	for i, d := range designs[1:] {
		if err := hull.widen(d); err != nil {
			return nil, fmt.Errorf("%s and %s cannot be joined: %w", names[0], names[i+1], err)
		}
	}
	return &hull, nil
}

// widen makes the boxes of d hold those of other.
func (d *Design) widen(other *Design) error {
	const way = "give a --formula of columns that both have"
	switch {
	case d.Intercept && !other.Intercept:
		return fmt.Errorf("the first model has an intercept, the second has none: %s, with or without \"- 1\"", way)
	case !d.Intercept && other.Intercept:
		return fmt.Errorf("the first model has no intercept, the second has one: %s, with or without \"- 1\"", way)
	case d.Response.Name != other.Response.Name:
		return fmt.Errorf("the response of the first is %q, of the second %q: %s", d.Response.Name, other.Response.Name, way)
	}
	// Before columns: a level more is a dummy more, and "a column that one lacks" would hide what is wrong.
	for _, f := range d.Factors {
		if g := other.factor(f.Name); g != nil && !slices.Equal(f.Levels, g.Levels) {
			return fmt.Errorf("factor %q has the levels %q in the first, %q in the second: publish with the same levels in the same order, or give a --formula without %[1]q", f.Name, f.Levels, g.Levels)
		}
	}
	for _, c := range other.Covariates {
		if Index(d.Covariates, c.Name) < 0 {
			return fmt.Errorf("the second has a column %q, the first has not: %s", c.Name, way)
		}
	}
	for _, s := range d.Sources {
		if i := Index(other.Sources, s.Name); i >= 0 && (s.Lower != other.Sources[i].Lower || s.Upper != other.Sources[i].Upper) {
			return fmt.Errorf("terms are made of %q within %v:%v in the first, within %v:%v in the second: publish with the same bounds", s.Name, s.Lower, s.Upper, other.Sources[i].Lower, other.Sources[i].Upper)
		}
	}
	for j := range d.Covariates {
		c := &d.Covariates[j]
		k := Index(other.Covariates, c.Name)
		if k < 0 {
			return fmt.Errorf("the first has a column %q, the second has not: %s", c.Name, way)
		}
		if err := c.widen(other.Covariates[k]); err != nil {
			return err
		}
	}
	return d.Response.widen(other.Response)
}

func (c *Column) widen(other Column) error {
	truth := c.Type != other.Type // of one of them alone
	if truth && (c.Lower != other.Lower || c.Upper != other.Upper) || c.Factor != other.Factor || c.Level != other.Level || !slices.Equal(c.Term, other.Term) {
		return fmt.Errorf("column %q is a number, a truth value, a level of a factor or a term, and not the same in both", c.Name)
	}
	if truth {
		c.Type = "" // a number from 0 to 1, as the other
	}
	c.Lower, c.Upper = min(c.Lower, other.Lower), max(c.Upper, other.Upper)
	return nil
}

// Index is the place of the column with that name, or -1.
func Index(columns []Column, name string) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
}

// Places are those of some columns among others, by name.
func Places(some, others []Column) (at []int) {
	for _, c := range some {
		at = append(at, Index(others, c.Name))
	}
	return at
}

// Parameters between scaled units and the data's units. From
//
//	(y - c_y)/h_y = θ_s0 + Σ_j θ_sj (x_j - c_j)/h_j
//
// follows θ_o = h_y M θ_s + c_y e_0, where M has the first row
// (1, -c_1/h_1, ..., -c_p/h_p) and 1/h_j in place j of the diagonal. Without an
// intercept all centres are 0 and the first row and column fall away.

// dims returns p and q, the numbers of covariates and of regression coefficients.
func (f Frame) dims() (p, q int) {
	p = len(f.Half) - 1
	if f.Intercept {
		return p, p + 1
	}
	return p, p
}

// ThetaToOriginal maps coefficients, intercept first, from scaled units to the
// data's units. Both slices have length q (else it panics) and may be the same.
func (f Frame) ThetaToOriginal(dst, theta []float64) {
	p, q := f.dims()
	mustLen("theta", len(theta), q)
	mustLen("dst", len(dst), q)
	hy, first := f.Half[p], q-p
	for j := range p {
		dst[first+j] = theta[first+j] * hy / f.Half[j]
	}
	if !f.Intercept {
		return
	}
	shift := f.Centre[p]
	for j := range p {
		shift -= float64(dst[1+j] * f.Centre[j])
	}
	dst[0] = float64(hy*theta[0]) + shift
}

// ThetaToScaled is the inverse of ThetaToOriginal.
func (f Frame) ThetaToScaled(dst, theta []float64) {
	p, q := f.dims()
	mustLen("theta", len(theta), q)
	mustLen("dst", len(dst), q)
	hy, first := f.Half[p], q-p
	if f.Intercept {
		shift := f.Centre[p]
		for j := range p {
			shift -= float64(theta[1+j] * f.Centre[j])
		}
		dst[0] = (theta[0] - shift) / hy
	}
	for j := range p {
		dst[first+j] = theta[first+j] * f.Half[j] / hy
	}
}

// ThetaMatrix returns the map of ThetaToOriginal as θ_o = aθ_s + b: a = h_y M is
// q×q, row-major, and b = c_y e_0 has length q.
func (f Frame) ThetaMatrix() (a, b []float64) {
	p, q := f.dims()
	a, b = make([]float64, q*q), make([]float64, q)
	hy, first := f.Half[p], q-p
	for j := range p {
		i := first + j
		a[i*q+i] = hy / f.Half[j]
	}
	if f.Intercept {
		a[0], b[0] = hy, f.Centre[p]
		for j := range p {
			a[1+j] = -f.Centre[j] * hy / f.Half[j]
		}
	}
	return a, b
}

// Sigma2ToOriginal maps the residual variance to the data's units, h_y² s2.
func (f Frame) Sigma2ToOriginal(s2 float64) float64 {
	hy := f.Half[len(f.Half)-1]
	return hy * hy * s2
}

// MuXToOriginal maps the mean of the covariates to the data's units, c + H mu.
// Both slices have length p (else it panics) and may be the same.
func (f Frame) MuXToOriginal(dst, mu []float64) {
	p, _ := f.dims()
	mustLen("mu", len(mu), p)
	mustLen("dst", len(dst), p)
	for j, v := range mu {
		dst[j] = f.Centre[j] + float64(f.Half[j]*v)
	}
}

// TauToOriginal maps the covariance of the covariates to the data's units,
// H tau H. Both are p×p, row-major (else it panics), and may be the same slice.
func (f Frame) TauToOriginal(dst, tau []float64) {
	p, _ := f.dims()
	mustLen("tau", len(tau), p*p)
	mustLen("dst", len(dst), p*p)
	for i := range p {
		for j := range p {
			// The product of the half-widths first: the result is symmetric
			// to the last bit where tau is.
			dst[i*p+j] = tau[i*p+j] * float64(f.Half[i]*f.Half[j])
		}
	}
}
