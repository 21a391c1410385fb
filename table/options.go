package table

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

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
	// NA are the texts of cells that mean missing, compared without the spaces
	// around them. An empty cell always does. nil stands for "NA"; a list without
	// texts for none but the empty one.
	NA []string
}

// CSV reads comma-separated values with a header (RFC 4180; a UTF-8 byte order
// mark, either line ending and empty lines are allowed) and yields one row after
// another, clamped to the bounds of d and in scaled units: length m, in the order
// (x_1, ..., x_p, y). name is what errors call the file.
//
// The dummies of a factor come from the cell of one column, which has the factor's
// name and holds one of its levels; a boolean one holds true, True, TRUE or 1, or
// false, False, FALSE or 0. Cells are read without the spaces around them.
//
// The yielded slice is reused: copy what must last. Memory is constant, whatever
// the number of rows. Only the columns of d are parsed; the others may hold
// anything. The sequence reads r, so it can be used once.
//
// The first error ends the sequence and is an *Error, except for an invalid
// design and options that do not exist: a bad header, a column of d that is not there, a level that
// means missing, a row with another number
// of fields, quotes out of place, a record over 1 MB, a cell that is missing
// (ErrMissing, unless o.Missing says otherwise), no finite decimal number, no
// truth value or none of the levels, a file without rows.
func (o Options) CSV(r io.Reader, name string, d *schema.Design) iter.Seq2[[]float64, error] {
	return func(yield func([]float64, error) bool) {
		if err := d.Validate(); err != nil {
			yield(nil, err)
			return
		}
		rows, err := o.newRowReader(r, name, d)
		if err != nil {
			yield(nil, err)
			return
		}
		for n := 0; ; n++ {
			row, err := rows.next()
			switch {
			case err == io.EOF:
				if n == 0 && !rows.dropped {
					yield(nil, &Error{File: name, Err: errNoRows})
				}
				return
			case err != nil:
				yield(nil, err)
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
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
		texts = append(texts, strings.TrimSpace(text))
	}
	o.NA = texts
	return o, nil
}
