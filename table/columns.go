package table

import (
	"io"
	"iter"

	"github.com/dpreg/dpreg/schema"
)

// Row is one row of Columns; its slices are reused.
type Row struct {
	Line   int       // on which it begins, 1-based
	Fields []string  // all of them, as text
	Values []float64 // of the columns wanted, in their order

	enclosed *enclosed
}

// Warning is that of a Source, of the rows so far.
func (r Row) Warning() error { return r.enclosed.warning() }

// Columns reads comma-separated values as CSV does, and yields of each row every
// field, and as numbers those of the columns wanted: in the data's units and not
// clamped. Those of a design may be wanted, with its factors: the dummies come from
// the column that has the factor's name. The header has the names of all columns,
// without spaces around them.
//
// Errors are *Error, as of CSV: those of the header come at once, the first one of
// the rows ends the sequence. A file without rows is one, unless o.Empty.
func (o Options) Columns(r io.Reader, name string, columns []schema.Column, factors []schema.Factor) (header []string, rows iter.Seq2[Row, error], err error) {
	if o, err = o.Settle(); err != nil {
		return nil, nil, err
	}
	blocks, b, enclosed := newBlockReader(r, name), &block{}, &enclosed{}
	w := wanted{columns: columns, factors: factors, options: o, enclosed: enclosed}
	if header, err = blocks.header(b, w.names()); err != nil {
		return nil, nil, err
	}
	l, err := w.layout(name, header)
	if err != nil {
		return nil, nil, err
	}
	return header, func(yield func(Row, error) bool) {
		row, some := Row{Values: make([]float64, len(columns)), enclosed: enclosed}, false
		for {
			for records := b.records(name, len(header)); ; some = true {
				keep, err := l.next(&row, records)
				if err == io.EOF {
					break
				}
				if (err != nil || keep) && !yield(row, err) || err != nil {
					return
				}
			}
			err := blocks.next(b)
			switch {
			case err == io.EOF && (some || o.Empty):
				return
			case err == io.EOF:
				err = &Error{File: name, Err: errNoRows}
			}
			if err != nil {
				yield(row, err)
				return
			}
		}
	}, nil
}

// next reads the next record and its row, io.EOF after the last one. keep tells whether
// the row stays.
func (l *layout) next(row *Row, records *recordReader) (keep bool, err error) {
	record, err := records.next()
	if err != nil {
		return false, err
	}
	row.Line, row.Fields = records.line(0), record
	missing, err := l.record(row.Values, record, records)
	return l.complete(row.Values, missing), err
}
