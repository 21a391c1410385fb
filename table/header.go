package table

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

// Header reads the names of the columns, without spaces around them, from the
// first line of comma-separated values. A column without a name, such as the row
// numbers that R and pandas write, has the name "". name is what errors call the
// file. It reads ahead of the header, so r is of no use afterwards.
//
// Errors are *Error: an empty file, a first line that looks like data, a repeated
// or unfit name, another separator than the comma.
func Header(r io.Reader, name string) ([]string, error) {
	return newBlockReader(r, name).header(&block{})
}

// header reads and checks the first record, and leaves in b what follows it.
func (r *blockReader) header(b *block) ([]string, error) {
	for {
		if err := r.next(b); err == io.EOF {
			return nil, &Error{File: r.name, Err: errors.New("the file is empty; its first line must name the columns")}
		} else if err != nil {
			return nil, err
		}
		records := b.records(r.name, 0)
		record, err := records.next()
		if err == io.EOF {
			continue // empty lines
		}
		if err != nil {
			return nil, err
		}
		names, err := checkHeader(record)
		if err != nil {
			return nil, &Error{File: r.name, Line: records.line(0), Err: err}
		}
		b.skip(min(int(records.csv.InputOffset()), len(b.text)))
		return names, nil
	}
}

// checkHeader returns the trimmed names. Its errors give positions and not the
// names: where there is no header, the first line is somebody's row.
func checkHeader(record []string) ([]string, error) {
	names := make([]string, len(record))
	for i, field := range record {
		names[i] = strings.TrimSpace(field)
		if strings.Contains(names[i], "\r") {
			return nil, errors.New("lines end with a carriage return alone; they must end with a line feed")
		}
		if _, err := schema.ParseNumber(field); err == nil {
			return nil, fmt.Errorf("this looks like a row of data, since field %d is a number; "+
				"the first line must name the columns, and no name may be a number", i+1)
		}
	}
	if len(names) == 1 && strings.ContainsAny(names[0], ";\t|") {
		return nil, errors.New("there is only one column; fields must be separated by commas")
	}
	if _, err := schema.FromHeader(names); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return names, nil
}
