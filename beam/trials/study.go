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
	Data string // of a comparison on real rows: their file, under a path that workers know
}

// Kind says whose design it is.
type Kind string

// The kinds of studies: those of packages calibration and compare.
const (
	Calibration Kind = "calibrate"
	Comparison  Kind = "compare"
)

// Open makes the study. Errors: those of reading the design and, of a comparison, its rows,
// which have to be those of the design.
func (s Study) Open() (*calibration.Study, error) {
	if s.Kind == Comparison {
		return s.comparison()
	}
	d, err := calibration.ReadDesign(s.Text)
	if err != nil {
		return nil, err
	}
	return d.Study()
}

func (s Study) comparison() (*calibration.Study, error) {
	d, err := compare.ReadDesign(s.Text)
	switch {
	case err != nil:
		return nil, err
	case d.Table == nil && s.Data == "":
		return d.Study(nil)
	case d.Table == nil:
		return nil, errors.New("this comparison simulates rows, and takes no table")
	case s.Data == "":
		return nil, errors.New("this comparison is of the rows of " + d.Table.Name + ": name the file")
	}
	source, err := table.Find(s.Data)
	if err != nil {
		return nil, err
	}
	o := table.Options{Missing: d.Table.Missing, NA: d.Table.NA}
	rows, err := compare.ReadRows(o.Rows(source, &d.Table.Columns), len(d.Table.Columns.Columns()))
	if err != nil {
		return nil, err
	}
	return d.Study(rows)
}
