package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/schema"
)

// maxPriorBytes bounds a prior file: 32 covariates take some 50 kB.
const maxPriorBytes = 1 << 20

// priorFile is the file's form; what is left out stays nil.
type priorFile struct {
	Units string `json:"units"`
	Theta *struct {
		Mean      []float64   `json:"mean"`
		Precision [][]float64 `json:"precision"`
	} `json:"theta"`
	Sigma2 *struct {
		Shape *float64 `json:"shape"`
		Scale *float64 `json:"scale"`
	} `json:"sigma2"`
	Covariates *struct {
		Mean  []float64   `json:"mean"`
		Kappa *float64    `json:"kappa"`
		Scale [][]float64 `json:"scale"`
		Dof   *float64    `json:"dof"`
	} `json:"covariates"`
	X *xFile `json:"x"`
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
	return json.Marshal(struct {
		Units      string `json:"units"`
		Theta      any    `json:"theta"`
		Sigma2     any    `json:"sigma2"`
		Covariates any    `json:"covariates"`
		X          any    `json:"x,omitempty"`
	}{
		"scaled",
		map[string]any{"mean": nig.Mean, "precision": rowsOf(nig.Precision, len(nig.Mean))},
		map[string]any{"shape": nig.Shape, "scale": nig.Scale},
		map[string]any{"mean": niw.Mean, "kappa": niw.Kappa, "scale": rowsOf(niw.Scale, len(niw.Mean)), "dof": niw.Dof},
		xOf(p.X),
	})
}

// rowsOf are the rows of an n×n matrix.
func rowsOf(a []float64, n int) [][]float64 { return slices.Collect(slices.Chunk(a, n)) }

// xOf is the file's form of a law; nil of none. A sampled one, which no file states, has
// its kind alone.
func xOf(l XLaw) any {
	switch l := l.(type) {
	case NormalX:
		return xFile{"normal", l.Mean, rowsOf(l.Covariance, len(l.Mean))}
	case UniformX:
		return xFile{Kind: "uniform"}
	case SampledX:
		return xFile{Kind: "sampled"}
	}
	return nil
}

// ReadPrior reads a prior file for a design and returns the prior in scaled
// units. "units" is "scaled" (also where it is left out) or "original"; every
// other field may be left out, and has the default prior's value then. Unknown
// fields, wrong sizes, matrices that are not symmetric or not positive definite
// and trailing bytes are errors that name the file and the field.
func ReadPrior(r io.Reader, name string, d *schema.Design) (*Prior, error) {
	p, err := readPrior(r, d, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// ReadOriginalPrior is ReadPrior for a design whose scaled units are nobody's, the
// common ones of releases whose boxes differ: "units" must be "original". differ says in
// words how they do, for the error.
func ReadOriginalPrior(r io.Reader, name string, d *schema.Design, differ string) (*Prior, error) {
	p, err := readPrior(r, d, differ)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func readPrior(r io.Reader, d *schema.Design, differ string) (*Prior, error) {
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
	frame := d.Frame()
	prior := DefaultPrior(Shape{P: len(d.Covariates), Intercept: d.Intercept})
	switch f.Units {
	case "", "scaled":
		if differ != "" {
			return nil, fmt.Errorf(`units: %s: a prior in scaled units would be in those of none; state it in the data's units, with "units": "original"`, differ)
		}
		return f.over(prior)
	case "original":
		if prior, err = prior.Original(frame); err != nil {
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
	nig, niw := p.Theta, p.Covariates
	if t := f.Theta; t != nil {
		if err := setVector(nig.Mean, t.Mean, "theta.mean"); err != nil {
			return nil, err
		}
		if err := setMatrix(nig.Precision, t.Precision, len(nig.Mean), "theta.precision"); err != nil {
			return nil, err
		}
	}
	if s := f.Sigma2; s != nil {
		setNumber(&nig.Shape, s.Shape)
		setNumber(&nig.Scale, s.Scale)
	}
	if c := f.Covariates; c != nil {
		if err := setVector(niw.Mean, c.Mean, "covariates.mean"); err != nil {
			return nil, err
		}
		setNumber(&niw.Kappa, c.Kappa)
		if err := setMatrix(niw.Scale, c.Scale, len(niw.Mean), "covariates.scale"); err != nil {
			return nil, err
		}
		setNumber(&niw.Dof, c.Dof)
	}
	theta, err := conjugate.NewNIG(nig.Mean, nig.Precision, nig.Shape, nig.Scale)
	if err != nil {
		return nil, fmt.Errorf("theta, sigma2: %w", err)
	}
	covariates, err := conjugate.NewNIW(niw.Mean, niw.Kappa, niw.Scale, niw.Dof)
	if err != nil {
		return nil, fmt.Errorf("covariates: %w", err)
	}
	out := &Prior{Theta: theta, Covariates: covariates, X: p.X}
	if f.X != nil {
		out.X, err = f.X.law(covariates.Dim())
	}
	return out, err
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

func setNumber(dst, v *float64) {
	if v != nil {
		*dst = *v
	}
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
