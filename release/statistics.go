package release

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

// Statistics are the noisy sums over the rows, in scaled units: with
// v = (x_1..x_p, y) in [-1,1]^m, m = p+1, they are Σx_j, Σx_j x_k, Σy, Σx_j y
// and Σy². SumX and SumXY have length p, SumXX is p×p and symmetric, written
// whole. SumYY is nil, and null in the file, where the release withholds it.
type Statistics struct {
	SumX  []float64   `json:"sum_x"`
	SumXX [][]float64 `json:"sum_xx"`
	SumY  float64     `json:"sum_y"`
	SumXY []float64   `json:"sum_xy"`
	SumYY *float64    `json:"sum_yy"`
}

// Length is m + m(m+1)/2, the length of the canonical vector of m columns.
func Length(m int) int { return m + m*(m+1)/2 }

// Index is the position of Σ v_j v_k (0-based j and k, in either order) in the
// canonical vector of m columns; the linear sum Σ v_j stands at position j.
// It panics if j or k is not in 0..m-1.
//
// The quadratic sums follow the m linear ones, the upper triangle row by row;
// row j starts after the j rows before it, of lengths m, m-1, ...
func Index(m, j, k int) int {
	if j > k {
		j, k = k, j
	}
	if j < 0 || k >= m {
		panic(fmt.Sprintf("release: pair (%d, %d) of %d columns", j, k, m))
	}
	return m + j*m - j*(j-1)/2 + k - j
}

// Vector is the canonical vector of length Length(m): the linear sums in the
// order of v, then Σ v_j v_k for j = 1..m, k = j..m. Σy² is the last, and the
// vector is shorter by one where that is withheld. It panics if the blocks
// do not fit each other: Release.Validate finds that first.
func (s *Statistics) Vector() []float64 {
	p := len(s.SumX)
	if len(s.SumXX) != p || len(s.SumXY) != p {
		panic("release: statistics of unequal sizes")
	}
	m := p + 1
	v := make([]float64, 0, Length(m))
	v = append(v, s.SumX...)
	v = append(v, s.SumY)
	for j := range p {
		v = append(v, s.SumXX[j][j:p]...)
		v = append(v, s.SumXY[j])
	}
	if s.SumYY == nil {
		return v
	}
	return append(v, *s.SumYY)
}

// StatisticsFromVector is the inverse of Vector; the result shares nothing
// with v. It panics if v has not length Length(m), or one less.
func StatisticsFromVector(m int, v []float64) Statistics {
	withheld := len(v) == Length(m)-1
	if m < 1 || len(v) != Length(m) && !withheld {
		panic(fmt.Sprintf("release: a vector of length %d for %d columns", len(v), m))
	}
	p := m - 1
	s := Statistics{
		SumX:  append([]float64{}, v[:p]...),
		SumXX: make([][]float64, p),
		SumY:  v[p],
		SumXY: make([]float64, p),
	}
	if !withheld {
		yy := v[len(v)-1]
		s.SumYY = &yy
	}
	for j := range p {
		s.SumXX[j] = make([]float64, p)
		for k := range p {
			s.SumXX[j][k] = v[Index(m, j, k)]
		}
		s.SumXY[j] = v[Index(m, j, p)]
	}
	return s
}

// Select gives the release of another model on the same columns: any of them
// as the response, any others as covariates, by a formula as
// schema.ParseFormula reads it (`y ~ .` takes all other columns). A factor is
// named as a whole, or single dummies of it are (see schema.Design.Select). The release
// holds the whole moment matrix, so this only picks entries of it, or turns a frame (see
// Look): it costs no privacy, and privacy, noise and n stay as they are, and so do radii,
// which are those of all columns. The empty formula gives
// the release itself. The result shares nothing with r. Moments are those of the
// covariates that are left; where the old response is one, there are none of it, and
// the result has no moments. Where Σy² is withheld, so it is from a model of the same
// response, and the response is no covariate; a model without it withholds nothing.
//
// Errors: a formula that does not parse or names an unknown column, a factor of
// more than two levels as the response or without the dummies that it needs; `- 1`
// from a release with an intercept whose columns are not centred at 0; as a
// covariate the response whose Σy² is withheld.
func (r *Release) Select(formula string) (*Release, error) {
	if r.Levels != nil {
		if cells, _ := cellsOf(&r.Schema, r.Levels.Factor); cells != nil { // of a schema that was checked
			return r.selectCells(cells, formula)
		}
	}
	design, err := r.selectDesign(formula)
	if err != nil {
		return nil, err
	}
	r, responds := r.FactorFirst(), false
	if r.Levels != nil {
		if first, _, err := LevelsFirst(design, r.Levels.Factor); err == nil {
			responds, design = Responds(design, r.Levels.Factor), first
		}
	}
	have := r.Schema.Columns()
	at := schema.Places(design.Columns(), have)
	if last := len(have) - 1; r.WithoutYY() && slices.Contains(at[:len(at)-1], last) {
		return nil, fmt.Errorf("formula %q: this release withholds the sum of squares of %q, which can be the response or be left out, but not a covariate", formula, have[last].Name)
	}
	if k := r.Levels.Dummies(); k > 0 && slices.Min(at) >= k {
		out, err := r.merged(nil, "", make([]int, k+1)).Select(formula)
		if err != nil || !design.Intercept { // of which the error knows of no factor
			return nil, fmt.Errorf("formula %q: %w", formula, r.wholly())
		}
		return out, nil
	}
	if _, err := r.pickLevels(design, at); err != nil {
		return nil, fmt.Errorf("formula %q: %w", formula, err)
	}
	out := r.take(design, at)
	switch {
	case responds && out.Levels.PerLevel():
		return nil, fmt.Errorf("formula %q: products are per level (--per-level), and of a response %q there is no law of such", formula, out.Levels.Factor)
	case responds && out.Neighbours() == AddRemove:
		return nil, fmt.Errorf("formula %q: no family has the law of sums by the levels of %q where the number of rows is not public: it is no response", formula, out.Levels.Factor)
	case responds:
		return out.FactorLast(), nil
	}
	return out, nil
}

// pick takes the statistics of the columns at these positions of v. Σy² that is
// withheld is so from a pick whose last column is y; no other may be y then.
func (s *Statistics) pick(at []int) Statistics {
	m := len(s.SumX) + 1
	old := s.Vector()
	v := make([]float64, Length(len(at)))
	for i, from := range picked(m, at) {
		if from < len(old) {
			v[i] = old[from]
		}
	}
	if s.SumYY == nil && at[len(at)-1] == m-1 {
		v = v[:len(v)-1]
	}
	return StatisticsFromVector(len(at), v)
}

// picked are the places, in the canonical vector of m columns, of the entries of that of the columns at these positions.
func picked(m int, at []int) []int {
	places := append(make([]int, 0, Length(len(at))), at...)
	for j, a := range at {
		for _, b := range at[j:] {
			places = append(places, Index(m, a, b))
		}
	}
	return places
}

// selectDesign resolves the formula against the release's columns. Their
// scaled values are fixed, so whatever bounds the new design states, its frame
// must be the same affine map of each column:
//
//	with an intercept     v = (x - (l+u)/2) / ((u-l)/2)
//	without one           v = x / max(|l|,|u|)
//
// From the first to the second they agree only for l = -u. From the second to
// the first, the box is restated as [-h, h], h = max(|l|,|u|): it holds the
// box [l, u], its middle is 0 and half its width is h.
func (r *Release) selectDesign(formula string) (*schema.Design, error) {
	if strings.TrimSpace(formula) == "" {
		d := r.Schema
		d.Covariates, d.Factors = slices.Clone(d.Covariates), slices.Clone(d.Factors)
		return &d, nil
	}
	d, err := r.Schema.Select(formula)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Schema.Intercept && !d.Intercept:
		for _, c := range d.Columns() {
			if c.Lower != -c.Upper {
				return nil, fmt.Errorf("formula %q: no model without an intercept from this release: column %q was centred, since its bounds %v:%v do not lie symmetrically about 0; make a release with a formula that says \"- 1\"",
					formula, c.Name, c.Lower, c.Upper)
			}
		}
	case !r.Schema.Intercept && d.Intercept:
		d.Response = symmetric(d.Response)
		for j, c := range d.Covariates {
			d.Covariates[j] = symmetric(c)
		}
	}
	return d, nil
}

func symmetric(c schema.Column) schema.Column {
	h := max(c.Upper, -c.Lower) // = max(|l|,|u|), since l < u
	c.Lower, c.Upper = -h, h
	return c
}

// Arrange gives the release with its covariates in the order of another design,
// which must have the same columns by name (schema.Hull sees to that), and its own
// bounds. It costs no privacy, and shares nothing with r that it changes. It panics
// where a column is missing.
func (r *Release) Arrange(d *schema.Design) *Release {
	if r.LevelsAreOfResponse() {
		return r.FactorFirst().Arrange(responseFirst(d)).FactorLast()
	}
	have, arranged := r.Schema.Columns(), r.Schema
	at, p := schema.Places(d.Columns(), have), len(d.Covariates)
	arranged.Covariates, arranged.Response = nil, have[at[p]]
	for _, j := range at[:p] {
		arranged.Covariates = append(arranged.Covariates, have[j])
	}
	return r.take(&arranged, at)
}

// take gives the release of a design whose columns are at these places.
func (r *Release) take(d *schema.Design, at []int) *Release {
	out := *r
	out.Schema = *d
	last, k := r.Numbers()
	m, behind := r.Dim()-k, make([]int, len(at)-k)
	for i, a := range at[k:] {
		behind[i] = a - k
	}
	last = last.pick(behind, m)
	out.Frame, out.Radii, out.Statistics = last.Frame, last.Radii, last.Statistics
	out.Steps = nil
	if levels, err := r.pickLevels(d, at); err == nil && r.Frame == nil {
		out.Levels = levels
	}
	for _, l := range r.Steps {
		out.Steps = append(out.Steps, l.pick(behind, m))
	}
	if r.Frame != nil && r.Levels != nil {
		out.Levels = r.Levels.turned(r.Frame, out.Frame, behind)
		out.Statistics = StatisticsFromVector(len(at), out.Levels.statistics(len(at), float64(r.N), last.Statistics.Vector()[len(behind):]))
	}
	out.Moments = r.Moments.pick(at[:len(at)-1], r.Dim()-1)
	out.Bounds = r.Bounds.pick(d)
	if out.Withheld = nil; out.WithoutYY() {
		out.Withheld = slices.Clone(r.Withheld)
	}
	if r.Privacy != nil {
		p := *r.Privacy
		out.Privacy = &p
	}
	return &out
}
