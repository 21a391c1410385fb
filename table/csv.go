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

// CSV is Options.CSV of the zero Options: every row must be complete in the columns
// of d, and empty cells and NA are missing.
func CSV(r io.Reader, name string, d *schema.Design) iter.Seq2[[]float64, error] {
	return Options{}.CSV(r, name, d)
}

// rowReader turns records into scaled rows.
type rowReader struct {
	records *recordReader
	options Options
	sources []source
	frame   schema.Frame
	row     []float64
	dropped bool // a row was left out
}

// newRowReader reads the header.
func (o Options) newRowReader(r io.Reader, name string, d *schema.Design) (*rowReader, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	records := newRecordReader(r, name)
	header, err := records.header()
	if err != nil {
		return nil, err
	}
	sources, err := records.sources(header, d.Columns(), d.Factors, o.NA)
	if err != nil {
		return nil, err
	}
	return &rowReader{records: records, options: o, sources: sources, frame: d.Frame(), row: make([]float64, len(d.Covariates)+1)}, nil
}

// next returns the next scaled row, io.EOF after the last one.
func (r *rowReader) next() ([]float64, error) {
	for {
		record, err := r.records.next()
		if err != nil {
			return nil, err
		}
		missing, err := r.records.cells(r.row, record, r.sources, r.options)
		if err != nil {
			return nil, err
		}
		if missing && r.options.Missing == Drop {
			r.dropped = true
			continue
		}
		r.frame.Scale(r.row, r.row)
		return r.row, nil
	}
}

var errNoRows = errors.New("there are no rows after the header")

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
