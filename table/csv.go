// Package table reads rows and hands them on clamped to public bounds, in scaled
// units, one at a time. It is one of the few packages that see a person's row.
package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/dpreg/dpreg/schema"
)

// CSV reads comma-separated values with a header (RFC 4180; a UTF-8 byte order
// mark, either line ending and empty lines are allowed) and yields one row after
// another, clamped to the bounds of d and in scaled units: length m, in the order
// (x_1, ..., x_p, y). name is what errors call the file.
//
// The yielded slice is reused: copy what must last. Memory is constant, whatever
// the number of rows. Only the columns of d are parsed; the others may hold
// anything. The sequence reads r, so it can be used once.
//
// The first error ends the sequence and is an *Error, except for an invalid
// design: a bad header, a column of d that is not there, a row with another number
// of fields, quotes out of place, a record over 1 MB, a cell that is missing
// (ErrMissing) or no finite decimal number, a file without rows.
func CSV(r io.Reader, name string, d *schema.Design) iter.Seq2[[]float64, error] {
	return func(yield func([]float64, error) bool) {
		if err := d.Validate(); err != nil {
			yield(nil, err)
			return
		}
		rows, err := newRowReader(r, name, d)
		if err != nil {
			yield(nil, err)
			return
		}
		for n := 0; ; n++ {
			row, err := rows.next()
			switch {
			case err == io.EOF && n == 0:
				yield(nil, &Error{File: name, Err: errors.New("there are no rows after the header")})
				return
			case err == io.EOF:
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

// rowReader turns records into scaled rows.
type rowReader struct {
	records *recordReader
	labels  []string
	place   []int // place[j] is the field of v_j in a record
	frame   schema.Frame
	row     []float64
}

func newRowReader(r io.Reader, name string, d *schema.Design) (*rowReader, error) {
	records := newRecordReader(r, name)
	header, err := records.header()
	if err != nil {
		return nil, err
	}
	frame := d.Frame()
	rows := &rowReader{records: records, labels: frame.Labels, frame: frame, row: make([]float64, len(frame.Labels))}
	at := make(map[string]int, len(header))
	for i, label := range header {
		at[label] = i
	}
	for _, label := range rows.labels {
		i, ok := at[label]
		if !ok {
			return nil, &Error{name, 1, label, errors.New("the header has no such column")}
		}
		rows.place = append(rows.place, i)
	}
	return rows, nil
}

// next returns the next scaled row, io.EOF after the last one.
func (r *rowReader) next() ([]float64, error) {
	record, err := r.records.next()
	if err != nil {
		return nil, err
	}
	for j, i := range r.place {
		if r.row[j], err = parseCell(record[i]); err != nil {
			return nil, &Error{r.records.name, r.records.line(i), r.labels[j], err}
		}
	}
	r.frame.Scale(r.row, r.row)
	return r.row, nil
}

// recordReader reads records of bounded size and one width.
type recordReader struct {
	name  string
	csv   *csv.Reader
	limit *limitReader
	last  int // line on which the last good record began
}

// header reads and checks the first record.
func (r *recordReader) header() ([]string, error) {
	record, err := r.next()
	switch {
	case err == io.EOF:
		return nil, &Error{File: r.name, Err: errors.New("the file is empty; its first line must name the columns")}
	case err != nil:
		return nil, err
	}
	names, err := checkHeader(record)
	if err != nil {
		return nil, &Error{File: r.name, Line: r.line(0), Err: err}
	}
	return names, nil
}

// next returns the next record, io.EOF after the last one. The slice is reused.
func (r *recordReader) next() ([]string, error) {
	r.limit.left = maxRecord
	record, err := r.csv.Read()
	if err == nil {
		r.last = r.line(0)
		return record, nil
	}
	if err == io.EOF {
		return nil, err
	}
	return nil, r.explain(err, len(record))
}

// explain places an error of encoding/csv and says it in our words.
func (r *recordReader) explain(err error, fields int) error {
	var malformed *csv.ParseError
	if !errors.As(err, &malformed) {
		return &Error{File: r.name, Err: fmt.Errorf("after line %d: %w", r.last, err)}
	}
	if errors.Is(err, csv.ErrFieldCount) {
		err = fmt.Errorf("%d fields where the header has %d", fields, r.csv.FieldsPerRecord)
	} else {
		err = errors.New("a quotation mark is out of place or never closed (fields must be separated by commas)")
	}
	return &Error{File: r.name, Line: malformed.StartLine, Err: err}
}

// line is the line on which field i of the last record begins.
func (r *recordReader) line(i int) int {
	line, _ := r.csv.FieldPos(i)
	return line
}
