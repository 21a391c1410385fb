package table

import (
	"io"
	"iter"
	"slices"

	"github.com/dpreg/dpreg/schema"
)

// Row is one row of Columns; its slices are reused.
type Row struct {
	Line   int       // on which it begins, 1-based
	Fields []string  // all of them, as text
	Values []float64 // of the columns wanted, in their order
}

// Columns is Options.Columns of the zero Options and of numeric columns.
func Columns(r io.Reader, name string, wanted []string) (header []string, rows iter.Seq2[Row, error], err error) {
	columns := make([]schema.Column, len(wanted))
	for j, label := range wanted {
		columns[j].Name = label
	}
	return Options{}.Columns(r, name, columns, nil)
}

// Columns reads comma-separated values as CSV does, and yields of each row every
// field, and as numbers those of the columns wanted: in the data's units and not
// clamped. Those of a design may be wanted, with its factors: the dummies come from
// the column that has the factor's name. The header has the names of all columns,
// without spaces around them.
//
// Errors are *Error, as of CSV: those of the header come at once, the first one of
// the rows ends the sequence. A file without rows is one.
func (o Options) Columns(r io.Reader, name string, wanted []schema.Column, factors []schema.Factor) (header []string, rows iter.Seq2[Row, error], err error) {
	if o, err = o.check(); err != nil {
		return nil, nil, err
	}
	records := newRecordReader(r, name)
	names, err := records.header()
	if err != nil {
		return nil, nil, err
	}
	header = slices.Clone(names)
	sources, err := records.sources(header, wanted, factors, o.NA)
	if err != nil {
		return nil, nil, err
	}
	return header, func(yield func(Row, error) bool) {
		row := Row{Values: make([]float64, len(wanted))}
		for n := 0; ; n++ {
			missing, err := records.columns(&row, sources, o)
			if err == io.EOF && n > 0 {
				return
			}
			if err == io.EOF {
				err = &Error{File: name, Err: errNoRows}
			}
			if missing && o.Missing == Drop && err == nil {
				continue
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}, nil
}

// columns reads the next row, io.EOF after the last one.
func (r *recordReader) columns(row *Row, sources []source, o Options) (missing bool, err error) {
	record, err := r.next()
	if err != nil {
		return false, err
	}
	row.Line, row.Fields = r.last, record
	return r.cells(row.Values, record, sources, o)
}
