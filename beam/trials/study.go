package trials

import (
	"errors"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/table"
)

// Study is a study in the form in which workers are told of it.
type Study struct {
	Text []byte // its design
	Data string // of a study of real rows: their file, under a path that workers know
}

// Open makes the study. Errors: those of reading the design and, of a study of real rows, its
// rows, which have to be those of the design.
func (s Study) Open() (*calibration.Study, error) {
	d, err := calibration.ReadDesign(s.Text)
	if err != nil {
		return nil, err
	}
	of := d.Population
	switch {
	case of == nil && s.Data == "":
		return d.Study(nil)
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
	return d.Study(rows)
}
