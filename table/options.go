package table

import (
	"fmt"
	"slices"

	"github.com/dpreg/dpreg/schema"
)

// Missing says what becomes of a row in which a cell of the model is missing.
type Missing string

const (
	// MissingError ends the sequence with ErrMissing; the empty Missing means it too.
	MissingError Missing = "error"
	// Midpoint puts the middle of the public bounds in place of the cell; a factor
	// has all its dummies at ½. Rows stay rows, so any neighbours are served; slopes
	// are biased, as a rule towards 0.
	Midpoint Missing = "midpoint"
	// Drop leaves the row out. Exchanging one row for another may then change the
	// number of rows, so this is for add-remove neighbours only: the caller sees
	// to it. That no row is left is not an error, which would tell of the rows.
	Drop Missing = "drop"
)

// Options say how cells are read. The zero value serves.
type Options struct {
	Missing Missing
	// NA are the texts of cells that mean missing, compared without schema.Space
	// around them. An empty cell always does. nil stands for "NA"; a list without
	// texts for none but the empty one.
	NA []string
	// Empty says that a table may be without rows. Else that is an error, which tells it
	// from a table with a row: a release for add-remove neighbours must not.
	Empty bool
}

// check returns o with its defaults, or what is wrong with it.
func (o Options) check() (Options, error) {
	if o.Missing == "" {
		o.Missing = MissingError
	}
	if !slices.Contains([]Missing{MissingError, Midpoint, Drop}, o.Missing) {
		return o, fmt.Errorf("missing cells: %q is none of error, midpoint and drop", o.Missing)
	}
	if o.NA == nil {
		o.NA = []string{"NA"}
	}
	texts := []string{""}
	for _, text := range o.NA {
		texts = append(texts, schema.Trim(text))
	}
	o.NA = texts
	return o, nil
}

// scaled is what the rows of a design hold, in scaled units.
func (o Options) scaled(d *schema.Design) (wanted, error) {
	if err := d.Validate(); err != nil {
		return wanted{}, err
	}
	o, err := o.check()
	frame := d.Frame()
	return wanted{columns: d.Columns(), factors: d.Factors, frame: &frame, options: o}, err
}
