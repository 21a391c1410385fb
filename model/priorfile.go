package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dpreg/dpreg/schema"
)

// maxPriorBytes bounds a prior file: 32 covariates take some 50 kB.
const maxPriorBytes = 1 << 20

// priorFile is the file's form; what is left out stays nil.
type priorFile struct {
	Units      string          `json:"units"`
	Theta      *thetaFile      `json:"theta"`
	Sigma2     *sigma2File     `json:"sigma2"`
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
	nig := p.Theta
	scales := make([]scaleFile, len(p.Scales))
	for i, s := range p.Scales {
		scales[i] = scaleFile{SD: s.SD, Sigma: s.Sigma}
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
	return json.Marshal(priorFile{
		Units:      "scaled",
		Theta:      &thetaFile{nig.Mean, rowsOf(nig.Precision, len(nig.Mean)), &p.Unscaled},
		Sigma2:     &sigma2File{&nig.Shape, &nig.Scale},
		Covariates: p.covariatesFile(),
		Scales:     &scales,
		X:          xOf(p.X),
	})
}

// covariatesFile states the law of μ_x by sds or by κ₀.
func (p *Prior) covariatesFile() *covariatesFile {
	niw := p.Covariates
	f := &covariatesFile{Mean: niw.Mean, MeanSD: p.MeanSD, Scale: rowsOf(niw.Scale, len(niw.Mean)), Dof: &niw.Dof}
	if p.MeanSD == nil {
		f.Kappa = &niw.Kappa
	}
	return f
}

// first is the index in θ of the first slope.
func (p *Prior) first() int { return p.Theta.Dim() - p.Covariates.Dim() }

// rowsOf are the rows of an n×n matrix.
func rowsOf(a []float64, n int) [][]float64 { return slices.Collect(slices.Chunk(a, n)) }

// xOf is the file's form of a law; nil of none. A sampled one, which no file states, has
// its kind alone.
func xOf(l XLaw) *xFile {
	switch l := l.(type) {
	case NormalX:
		return &xFile{"normal", l.Mean, rowsOf(l.Covariance, len(l.Mean))}
	case UniformX:
		return &xFile{Kind: "uniform"}
	case SampledX:
		return &xFile{Kind: "sampled"}
	}
	return nil
}

// ReadPrior reads a prior file for a design and returns the prior in scaled units. What the
// file leaves out is as in DefaultPriorFor(d); see Prior.Read.
func ReadPrior(r io.Reader, name string, d *schema.Design) (*Prior, error) {
	prior, err := DefaultPriorFor(d)
	if err != nil {
		return nil, err
	}
	return prior.Read(r, name, d, "")
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
		p = p.clone()
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

// over returns the prior with the file's parts in place of its own.
func (f *priorFile) over(p *Prior) (*Prior, error) {
	out := p.clone()
	for _, part := range []func(*Prior) error{f.theta, f.sigma2, f.covariates} {
		if err := part(out); err != nil {
			return nil, err
		}
	}
	err := out.valid()
	if err == nil {
		err = f.scales(out)
	}
	if err != nil {
		return nil, err
	}
	if f.X != nil {
		out.X, err = f.X.law(out.Covariates.Dim())
	}
	return out, err
}

func (f *priorFile) theta(p *Prior) error {
	t := f.Theta
	if t == nil {
		return nil
	}
	if err := setVector(p.Theta.Mean, t.Mean, "theta.mean"); err != nil {
		return err
	}
	if t.Precision == nil {
		if t.Unscaled != nil {
			return errors.New("theta.unscaled says what theta.precision is relative to: state it, too")
		}
		return nil
	}
	p.Unscaled = t.Unscaled != nil && *t.Unscaled
	p.drop(func(s Scale) bool { return len(s.Coefficients) > 0 })
	return setMatrix(p.Theta.Precision, t.Precision, p.Theta.Dim(), "theta.precision")
}

func (f *priorFile) sigma2(p *Prior) error {
	s := f.Sigma2
	if s == nil {
		return nil
	}
	if s.Shape == nil || s.Scale == nil {
		return errors.New("sigma2: shape and scale make a law together: state both")
	}
	p.Theta.Shape, p.Theta.Scale = *s.Shape, *s.Scale
	p.drop(func(s Scale) bool { return s.Sigma })
	return nil
}

func (f *priorFile) covariates(p *Prior) error {
	c, niw := f.Covariates, p.Covariates
	if c == nil {
		return nil
	}
	if err := setVector(niw.Mean, c.Mean, "covariates.mean"); err != nil {
		return err
	}
	switch {
	case c.Kappa != nil && c.MeanSD != nil:
		return errors.New("covariates: kappa and mean_sd both state how wide the means' law is: state one")
	case c.Kappa != nil:
		niw.Kappa, p.MeanSD = *c.Kappa, nil
	case c.MeanSD != nil:
		p.MeanSD = make([]float64, niw.Dim())
		if err := setVector(p.MeanSD, c.MeanSD, "covariates.mean_sd"); err != nil {
			return err
		}
	}
	switch {
	case c.Scale == nil && c.Dof == nil:
		return nil
	case c.Scale == nil || c.Dof == nil:
		return errors.New("covariates: scale and dof make a law together: state both")
	}
	niw.Dof = *c.Dof
	p.drop(func(s Scale) bool { return len(s.Covariates) > 0 })
	return setMatrix(niw.Scale, c.Scale, niw.Dim(), "covariates.scale")
}

// law returns the law of p covariates, which has no default for what a kind
// needs.
func (f *xFile) law(p int) (XLaw, error) {
	switch f.Kind {
	case "uniform":
		if f.Mean != nil || f.Covariance != nil {
			return nil, errors.New("x: a uniform law is that on the box of the public bounds, and has no mean or covariance to state")
		}
		return UniformX{}, nil
	case "normal":
		if f.Mean == nil || f.Covariance == nil {
			return nil, errors.New("x: a normal law needs both mean and covariance")
		}
		l := NormalX{make([]float64, p), make([]float64, p*p)}
		if err := setVector(l.Mean, f.Mean, "x.mean"); err != nil {
			return nil, err
		}
		if err := setMatrix(l.Covariance, f.Covariance, p, "x.covariance"); err != nil {
			return nil, err
		}
		if err := l.check(p); err != nil {
			return nil, fmt.Errorf("x: %w", err)
		}
		return l, nil
	}
	return nil, fmt.Errorf(`x.kind: %q is neither "normal" nor "uniform"`, f.Kind)
}

func setVector(dst, v []float64, field string) error {
	if v == nil {
		return nil
	}
	if len(v) != len(dst) {
		return fmt.Errorf("%s: %d numbers, the model needs %d", field, len(v), len(dst))
	}
	copy(dst, v)
	return nil
}

func setMatrix(dst []float64, rows [][]float64, n int, field string) error {
	if rows == nil {
		return nil
	}
	if len(rows) != n {
		return fmt.Errorf("%s: %d rows, the model needs %d", field, len(rows), n)
	}
	for i, row := range rows {
		if len(row) != n {
			return fmt.Errorf("%s[%d]: %d numbers, the model needs %d", field, i, len(row), n)
		}
		copy(dst[i*n:], row)
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
