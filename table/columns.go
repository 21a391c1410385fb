package table

import (
	"errors"
	"io"
	"iter"
	"slices"
)

// Row is one row of Columns; its slices are reused.
type Row struct {
	Line   int       // on which it begins, 1-based
	Fields []string  // all of them, as text
	Values []float64 // of the columns wanted, in their order
}

// Columns reads comma-separated values as CSV does, and yields of each row every
// field, and as numbers those of the columns wanted: in the data's units and not
// clamped. The header has the names of all columns, without spaces around them.
//
// Errors are *Error, as of CSV: those of the header come at once, the first one of
// the rows ends the sequence. A file without rows is one.
func Columns(r io.Reader, name string, wanted []string) (header []string, rows iter.Seq2[Row, error], err error) {
	records := newRecordReader(r, name)
	names, err := records.header()
	if err != nil {
		return nil, nil, err
	}
	header = slices.Clone(names)
	var place []int
	for _, label := range wanted {
		i := slices.Index(header, label)
		if i < 0 {
			return nil, nil, &Error{name, 1, label, errors.New("the header has no such column")}
		}
		place = append(place, i)
	}
	return header, func(yield func(Row, error) bool) {
		row := Row{Values: make([]float64, len(place))}
		for n := 0; ; n++ {
			err := records.columns(&row, place, wanted)
			if err == io.EOF && n > 0 {
				return
			}
			if err == io.EOF {
				err = &Error{File: name, Err: errors.New("there are no rows after the header")}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}, nil
}

// columns reads the next row, io.EOF after the last one.
func (r *recordReader) columns(row *Row, place []int, labels []string) error {
	record, err := r.next()
	if err != nil {
		return err
	}
	row.Line, row.Fields = r.last, record
	for j, i := range place {
		if row.Values[j], err = parseCell(record[i]); err != nil {
			return &Error{r.name, r.line(i), labels[j], err}
		}
	}
	return nil
}
