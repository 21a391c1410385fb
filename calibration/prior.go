package calibration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// PriorSpec names a prior, with which methods infer and from which, unless rows are of a
// population, the true parameters are drawn: one of the names below, or what a prior file
// says, BoxPrior where it says nothing. Its JSON is that name or the file.
type PriorSpec struct {
	Name string
	File json.RawMessage // of a prior file, where Name is empty
}

// The priors that have names.
const (
	DefaultPrior = "default" // what Infer takes by itself, of each release; for Resampled data alone
	BoxPrior     = "box"     // model.BoxPrior
	PaperPrior   = "paper"   // of Figure 3: NIG(0, .5/19·I, 20, .5), NIW(0, 1, I, 50)
)

// MarshalJSON implements json.Marshaler.
func (s PriorSpec) MarshalJSON() ([]byte, error) {
	if s.Name != "" {
		return json.Marshal(s.Name)
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, s.File)
	return compact.Bytes(), err
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *PriorSpec) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &s.Name)
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, text)
	s.File = compact.Bytes()
	return err
}

// of returns the prior for a design, in scaled units.
func (s PriorSpec) of(d *schema.Design) (*model.Prior, error) {
	shape := shapeOf(d)
	switch {
	case s.Name == DefaultPrior:
		return model.DefaultPriorFor(d)
	case s.Name == BoxPrior:
		return model.BoxPrior(shape), nil
	case s.Name == PaperPrior:
		return paperPrior(shape)
	case s.Name != "":
		return nil, fmt.Errorf("there is none of the name %q", s.Name)
	case len(s.File) == 0:
		return nil, errors.New("it is missing")
	}
	return model.BoxPrior(shape).Read(bytes.NewReader(s.File), "prior", d, "")
}

func shapeOf(d *schema.Design) model.Shape {
	return model.Shape{P: len(d.Covariates), Intercept: d.Intercept}
}

// paperPrior is that of Bernstein & Sheldon's Figure 3, where p = 1.
func paperPrior(s model.Shape) (*model.Prior, error) {
	const a, b = 20, 0.5
	theta, err := conjugate.NewNIG(make([]float64, s.Q()), diagonal(s.Q(), b/(a-1.)), a, b)
	if err != nil {
		return nil, err
	}
	covariates, err := conjugate.NewNIW(make([]float64, s.P), 1, diagonal(s.P, 1), 50)
	return &model.Prior{Theta: theta, Covariates: covariates}, err
}

func diagonal(n int, v float64) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		a[i*n+i] = v
	}
	return a
}
