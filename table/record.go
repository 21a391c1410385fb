package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// recordReader reads the records of a block by encoding/csv: it says what a record is.
type recordReader struct {
	name   string
	csv    *csv.Reader
	before int // lines before the block
	lines  bool
}

// records reads the block's records, of so many fields; 0 is as many as the first has.
func (b *block) records(name string, fields int) *recordReader {
	r := csv.NewReader(bytes.NewReader(b.text))
	r.ReuseRecord, r.FieldsPerRecord = true, fields
	return &recordReader{name: name, csv: r, before: b.line - 1, lines: b.lines}
}

// next returns the next record, io.EOF after the last one. The slice is reused.
func (r *recordReader) next() ([]string, error) {
	record, err := r.csv.Read()
	if err == nil || err == io.EOF {
		return record, err
	}
	var malformed *csv.ParseError
	switch {
	case !errors.As(err, &malformed):
		panic(err) // a block is memory
	case errors.Is(err, csv.ErrFieldCount):
		err = fmt.Errorf("%d fields where the header has %d", len(record), r.csv.FieldsPerRecord)
	default:
		err = errors.New("a quotation mark is out of place or never closed (fields must be separated by commas)")
	}
	return nil, &Error{File: r.name, Line: r.before + malformed.StartLine, Err: err}
}

// line is the line on which field i of the last record begins.
func (r *recordReader) line(i int) int {
	line, _ := r.csv.FieldPos(i)
	return r.before + line
}
