package trials

import (
	"errors"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/calibration/compare"
	"github.com/dpreg/dpreg/table"
)

// Study is a study in the form in which workers are told of it.
type Study struct {
	Kind Kind
	Text []byte // its design
	Data string // of a study of real rows: their file, under a path that workers know
}

// Kind says whose design it is.
type Kind string

// The kinds of studies: those of packages calibration and compare.
const (
	Calibration Kind = "calibrate"
	Comparison  Kind = "compare"
)

// Open makes the study. Errors: those of reading the design and, of a study of real rows, its
// rows, which have to be those of the design.
func (s Study) Open() (*calibration.Study, error) {
	if s.Kind == Comparison {
		d, err := compare.ReadDesign(s.Text)
		if err != nil {
			return nil, err
		}
		var of *calibration.Table
		if d.Table != nil {
			of = &d.Table.Table
		}
		return s.open(of, d.Study)
	}
	d, err := calibration.ReadDesign(s.Text)
	if err != nil {
		return nil, err
	}
	return s.open(d.Population, d.Study)
}

// open gives a study the rows of its table; nil: it has none.
func (s Study) open(of *calibration.Table, study func(*calibration.Rows) (*calibration.Study, error)) (*calibration.Study, error) {
	switch {
	case of == nil && s.Data == "":
		return study(nil)
	case of == nil:
		return nil, errors.New("this study simulates rows, and takes no table")
	case s.Data == "":
		return nil, errors.New("this study is of the rows of " + of.Name + ": name the file")
	}
	source, err := table.Find(s.Data)
	if err != nil {
		return nil, err
	}
	o := table.Options{Missing: of.Missing, NA: of.NA}
	rows, err := calibration.ReadRows(o.Rows(source, &of.Columns), len(of.Columns.Columns()))
	if err != nil {
		return nil, err
	}
	return study(rows)
}
