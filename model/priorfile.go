package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/schema"
)

// maxPriorBytes bounds a prior file: 32 covariates take some 50 kB.
const maxPriorBytes = 1 << 20

// priorFile is the file's form; what is left out stays nil.
type priorFile struct {
	Units      string          `json:"units"`
	Theta      *thetaFile      `json:"theta"`
	Sigma2     *sigma2File     `json:"sigma2,omitempty"`
	Kurtosis   []float64       `json:"kurtosis,omitempty"` // the least and the most
	Covariates *covariatesFile `json:"covariates"`
	Scales     *[]scaleFile    `json:"scales"`
	X          *xFile          `json:"x,omitempty"`
}

type thetaFile struct {
	Mean      []float64   `json:"mean"`
	Precision [][]float64 `json:"precision"`
	Unscaled  *bool       `json:"unscaled"`
}

type sigma2File struct {
	Shape *float64 `json:"shape"`
	Scale *float64 `json:"scale"`
}

type covariatesFile struct {
	Mean   []float64   `json:"mean"`
	MeanSD []float64   `json:"mean_sd,omitempty"`
	Kappa  *float64    `json:"kappa,omitempty"`
	Scale  [][]float64 `json:"scale"`
	Dof    *float64    `json:"dof"`
}

// scaleFile is the form of a Scale. Covariates and coefficients are numbered as mu_x and
// theta of draws are: from 1, theta[0] being the intercept.
type scaleFile struct {
	SD           float64     `json:"sd"`
	Dof          float64     `json:"dof,omitempty"`
	Sigma        bool        `json:"sigma,omitempty"`
	Covariates   []int       `json:"covariates,omitempty"`
	Coefficients []int       `json:"coefficients,omitempty"`
	Precision    [][]float64 `json:"precision,omitempty"`
}

// xFile is the form of a law of the covariates.
type xFile struct {
	Kind       string      `json:"kind"`
	Mean       []float64   `json:"mean,omitempty"`
	Covariance [][]float64 `json:"covariance,omitempty"`
}

// MarshalJSON writes a prior as ReadPrior reads it, all of it, in scaled units.
func (p *Prior) MarshalJSON() ([]byte, error) {
	nig, niw := p.Theta, p.Covariates
	covariates := &covariatesFile{Mean: niw.Mean, MeanSD: p.MeanSD, Scale: rowsOf(niw.Scale, len(niw.Mean)), Dof: &niw.Dof}
	if p.MeanSD == nil {
		covariates.Kappa = &niw.Kappa
	}
	scales := make([]scaleFile, len(p.Scales))
	for i, s := range p.Scales {
		scales[i] = scaleFile{SD: s.SD, Dof: s.Dof, Sigma: s.Sigma}
		for _, j := range s.Covariates {
			scales[i].Covariates = append(scales[i].Covariates, j+1)
		}
		for _, k := range s.Coefficients {
			scales[i].Coefficients = append(scales[i].Coefficients, k+1-p.first())
		}
		if n := len(s.Coefficients); n > 0 {
			scales[i].Precision = rowsOf(s.Precision, n)
		}
	}
	least, most := p.Kurtosis.ends()
	sigma2, kurtosis := &sigma2File{&nig.Shape, &nig.Scale}, []float64{least, most}
	if p.Linked {
		sigma2, kurtosis = nil, nil
	}
	return json.Marshal(priorFile{
		Units:      "scaled",
		Theta:      &thetaFile{nig.Mean, rowsOf(nig.Precision, len(nig.Mean)), &p.Unscaled},
		Sigma2:     sigma2,
		Kurtosis:   kurtosis,
		Covariates: covariates,
		Scales:     &scales,
		X:          xOf(p.X),
	})
}

// rowsOf are the rows of an n×n matrix.
func rowsOf(a []float64, n int) [][]float64 {
	if n == 0 {
		return [][]float64{}
	}
	return slices.Collect(slices.Chunk(a, n))
}

// xOf is the file's form of a law; nil of none.
func xOf(l XLaw) *xFile {
	switch l := l.(type) {
	case NormalX:
		return &xFile{"normal", l.Mean, rowsOf(l.Covariance, len(l.Mean))}
	case UniformX:
		return &xFile{Kind: "uniform"}
	}
	return nil
}

// Read reads a prior file for a design: the prior p, in its scaled units, with what the file
// states in place of its own. "units" is "scaled" (also where it is left out) or
// "original". Stated parts lose the free scales that p has of them: "theta.precision"
// those of coefficients, "sigma2" that of σ, "covariates.scale" those of the covariates,
// unless "scales" states all there are. A precision is relative to σ² unless "unscaled"
// is true, and about 0 in scaled units unless there is a mean.
//
// Where the scaled units of the design are nobody's, the common ones of releases whose boxes
// differ, differ says in words how, and "units" must be "original".
//
// Unknown fields, wrong sizes, matrices that are not symmetric or not positive definite,
// halves of a law and trailing bytes are errors that name the file and the field.
func (p *Prior) Read(r io.Reader, name string, d *schema.Design, differ string) (*Prior, error) {
	out, err := p.read(r, d, differ)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func (p *Prior) read(r io.Reader, d *schema.Design, differ string) (*Prior, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPriorBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxPriorBytes {
		return nil, fmt.Errorf("longer than %d bytes: not a prior file", maxPriorBytes)
	}
	var f priorFile
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, notPrior(text, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("bytes after the end of the prior")
	}
	if t := f.Theta; t != nil && t.Precision != nil && t.Mean == nil {
		p = p.Clone()
		clear(p.Theta.Mean) // a law about the middle of the box
	}
	frame := d.Frame()
	switch f.Units {
	case "", "scaled":
		if differ != "" {
			return nil, fmt.Errorf(`units: %s: a prior in scaled units would be in those of none; state it in the data's units, with "units": "original"`, differ)
		}
		return f.over(p)
	case "original":
		prior, err := p.Original(frame)
		if err != nil {
			return nil, err
		}
		if prior, err = f.over(prior); err != nil {
			return nil, err
		}
		return prior.FromOriginal(frame)
	}
	return nil, fmt.Errorf(`units: %q is neither "scaled" nor "original"`, f.Units)
}

// stating puts what a file states in place of a prior's parts, up to the first error.
type stating struct {
	*Prior
	err error
}

// over returns the prior with the file's parts in place of its own.
func (f *priorFile) over(p *Prior) (*Prior, error) {
	s := &stating{Prior: p.Clone()}
	s.theta(f.Theta)
	s.sigma2(f.Sigma2)
	s.kurtosis(f.Kurtosis)
	s.covariates(f.Covariates)
	if s.err == nil {
		s.err = s.valid()
	}
	if s.err == nil && f.Scales != nil {
		s.err = s.scales(*f.Scales)
	}
	if s.err == nil && f.X != nil {
		s.x(f.X)
	}
	return s.Prior, s.err
}

// refuse is an error where something is wrong.
func (s *stating) refuse(wrong bool, format string, args ...any) {
	if wrong && s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

func (s *stating) theta(t *thetaFile) {
	if t == nil {
		return
	}
	s.vector(s.Theta.Mean, t.Mean, "theta.mean")
	s.refuse(t.Precision == nil && t.Unscaled != nil, "theta.unscaled says what theta.precision is relative to: state it, too")
	if t.Precision != nil {
		s.Unscaled = t.Unscaled != nil && *t.Unscaled
		s.refuse(s.Linked && !s.Unscaled, `theta.unscaled: the response of a family has no sigma that a precision could be relative to: say "unscaled": true`)
		s.drop(func(s Scale) bool { return len(s.Coefficients) > 0 })
		s.matrix(s.Theta.Precision, t.Precision, s.Theta.Dim(), "theta.precision")
	}
}

func (s *stating) sigma2(v *sigma2File) {
	switch {
	case v == nil:
	case s.Linked:
		s.refuse(true, "sigma2: the response of a family has no sigma: leave it out")
	case v.Shape == nil || v.Scale == nil:
		s.refuse(true, "sigma2: shape and scale make a law together: state both")
	default:
		s.Theta.Shape, s.Theta.Scale = *v.Shape, *v.Scale
		s.drop(func(s Scale) bool { return s.Sigma })
	}
}

func (s *stating) kurtosis(v []float64) {
	if v == nil {
		return
	}
	s.refuse(s.Linked, "kurtosis: the response of a family has no residuals: leave it out")
	s.refuse(len(v) != 2 || !(v[0] >= 3 && v[1] >= v[0] && v[1] <= reach), "kurtosis: two numbers from 3 on are needed, the least and the most, as in [3, 100]; [3, 3] is of normal residuals")
	if s.err == nil {
		s.Kurtosis = newKurtosis(v[0], v[1])
	}
}

func (s *stating) covariates(c *covariatesFile) {
	if c == nil {
		return
	}
	niw := s.Covariates
	s.vector(niw.Mean, c.Mean, "covariates.mean")
	s.refuse(c.Kappa != nil && c.MeanSD != nil, "covariates: kappa and mean_sd both state how wide the means' law is: state one")
	if c.Kappa != nil {
		niw.Kappa, s.MeanSD = *c.Kappa, nil
	}
	if c.MeanSD != nil {
		s.MeanSD = make([]float64, niw.Dim())
		s.vector(s.MeanSD, c.MeanSD, "covariates.mean_sd")
	}
	s.refuse((c.Scale == nil) != (c.Dof == nil), "covariates: scale and dof make a law together: state both")
	if c.Scale != nil && c.Dof != nil {
		niw.Dof = *c.Dof
		s.drop(func(s Scale) bool { return len(s.Covariates) > 0 })
		s.matrix(niw.Scale, c.Scale, niw.Dim(), "covariates.scale")
	}
}

// x takes the law of the covariates, which has no default for what a kind needs.
func (s *stating) x(f *xFile) {
	p := s.Covariates.Dim()
	switch f.Kind {
	case "uniform":
		s.refuse(f.Mean != nil || f.Covariance != nil, "x: a uniform law is that on the box of the public bounds, and has no mean or covariance to state")
		s.X = UniformX{}
	case "normal":
		l := NormalX{make([]float64, p), make([]float64, p*p)}
		s.refuse(f.Mean == nil || f.Covariance == nil, "x: a normal law needs both mean and covariance")
		s.vector(l.Mean, f.Mean, "x.mean")
		s.matrix(l.Covariance, f.Covariance, p, "x.covariance")
		if err := l.check(p); err != nil {
			s.refuse(true, "x: %w", err)
		}
		s.X = l
	default:
		s.refuse(true, `x.kind: %q is neither "normal" nor "uniform"`, f.Kind)
	}
}

// vector copies numbers, if any are stated, as many as dst has.
func (s *stating) vector(dst, v []float64, field string) {
	if v != nil && len(v) != len(dst) {
		s.refuse(true, "%s: %d numbers, the model needs %d", field, len(v), len(dst))
		return
	}
	copy(dst, v)
}

// matrix copies the rows of an n×n matrix.
func (s *stating) matrix(dst []float64, rows [][]float64, n int, field string) {
	s.refuse(len(rows) != n, "%s: %d rows, the model needs %d", field, len(rows), n)
	for i, row := range rows[:min(n, len(rows))] {
		s.refuse(len(row) != n, "%s[%d]: %d numbers, the model needs %d", field, i, len(row), n)
		copy(dst[i*n:(i+1)*n], row)
	}
}

// scales takes the free scales, which are then all there are.
func (s *stating) scales(all []scaleFile) error {
	s.Scales = nil
	for i, f := range all {
		scale, err := s.scale(f)
		if err == nil {
			err = s.disjoint(scale)
		}
		if err != nil {
			return fmt.Errorf("scales[%d]: %w", i, err)
		}
		s.Scales = append(s.Scales, scale)
	}
	return nil
}

func (s *stating) scale(f scaleFile) (Scale, error) {
	out, p := Scale{SD: f.SD, Dof: f.Dof, Sigma: f.Sigma}, s.Covariates.Dim()
	kinds := number.Indicator[int](f.Sigma) + number.Indicator[int](f.Covariates != nil) + number.Indicator[int](f.Coefficients != nil)
	s.refuse(!(f.SD > 0), "sd must be above 0")
	s.refuse(f.Dof != 0 && !(f.Dof >= 1 && f.Dof <= mostDof), "dof must be from 1 to %d", mostDof)
	s.refuse(f.Dof != 0 && f.Coefficients == nil, "dof is of coefficients")
	s.refuse(kinds != 1, `a free scale is of one of "sigma": true, "covariates": [...] and "coefficients": [...]`)
	s.refuse(f.Coefficients == nil && f.Precision != nil, "precision is of coefficients")
	for _, j := range f.Covariates {
		s.refuse(j < 1 || j > p, "covariates: %d is not between 1 and %d, the number of covariates", j, p)
		out.Covariates = append(out.Covariates, j-1)
	}
	for _, k := range f.Coefficients {
		s.refuse(k < 1 || k > p, "coefficients: %d is not between 1 and %d, the number of covariates", k, p)
		out.Coefficients = append(out.Coefficients, k-1+s.first())
	}
	if f.Coefficients != nil {
		n := len(f.Coefficients)
		s.refuse(f.Precision == nil, "precision is missing: the part of theta.precision that the scale divides")
		out.Precision = make([]float64, n*n)
		s.matrix(out.Precision, f.Precision, n, "precision")
	}
	switch {
	case s.err != nil:
		return out, s.err
	case f.Covariates != nil:
		return out, out.checkCovariates(s.Covariates)
	case f.Coefficients != nil:
		return out, out.checkCoefficients(s.Theta)
	}
	return out, nil
}

func (s Scale) checkCovariates(x *conjugate.NIW) error {
	if len(s.Covariates) == 0 {
		return errors.New("covariates: there is none")
	}
	for _, j := range s.Covariates {
		for k := range x.Dim() {
			if k != j && x.Scale[j*x.Dim()+k] != 0 {
				return fmt.Errorf("covariates.scale has an element off the diagonal, of %d and %d, and no free scale can divide that", j+1, k+1)
			}
		}
	}
	return nil
}

// checkCoefficients checks that Precision is a part of Λ₀: both it and the rest positive
// semidefinite.
func (s Scale) checkCoefficients(theta *conjugate.NIG) error {
	n, q := len(s.Coefficients), theta.Dim()
	if n == 0 {
		return errors.New("coefficients: there is none")
	}
	rest := slices.Clone(theta.Precision)
	for r, i := range s.Coefficients {
		for c, j := range s.Coefficients {
			rest[i*q+j] -= s.Precision[r*n+c]
			if s.Precision[r*n+c] != s.Precision[c*n+r] {
				return errors.New("precision is not symmetric")
			}
		}
	}
	if !positiveSemidefinite(s.Precision, s.Precision, n) {
		return errors.New("precision is not positive semidefinite")
	}
	if !positiveSemidefinite(rest, theta.Precision, q) {
		return errors.New("precision is no part of theta.precision: what is left of that without it is not positive semidefinite")
	}
	return nil
}

// positiveSemidefinite tells it of a symmetric matrix, up to rounding of numbers of the size
// of b's diagonal.
func positiveSemidefinite(a, b []float64, n int) bool {
	root := slices.Clone(a)
	for i := range n {
		root[i*n+i] += semidefinite * b[i*n+i]
	}
	return dense.Cholesky(root, n)
}

// disjoint checks that no part of the prior has two free scales.
func (p *Prior) disjoint(s Scale) error {
	twice := func(x []int) bool { return len(slices.Compact(slices.Sorted(slices.Values(x)))) < len(x) }
	if twice(s.Covariates) || twice(s.Coefficients) {
		return errors.New("a number stands twice")
	}
	for _, other := range p.Scales {
		if s.Sigma && other.Sigma || twice(slices.Concat(other.Covariates, s.Covariates)) || twice(slices.Concat(other.Coefficients, s.Coefficients)) {
			return errors.New("another free scale is of the same")
		}
	}
	return nil
}

// notPrior says where decoding failed. What stands there is not repeated: the
// file may be a table of data, given by mistake.
func notPrior(text []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("not a prior file: %w", err)
	}
	line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
	return fmt.Errorf("not a prior file: line %d is not JSON", line)
}
