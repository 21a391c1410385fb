package table

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dpreg/dpreg/schema"
)

// layout is how the records of a file become rows.
type layout struct {
	wanted
	name   string
	header []string
	fields []field   // in the order in which a row needs them
	inline []int     // of each field of a record its index in fields, or -1
	absent []float64 // texts that mean missing and are numbers, as numbers
}

// wanted is what rows hold, whatever the file.
type wanted struct {
	columns []schema.Column
	factors []schema.Factor
	frame   *schema.Frame // nil: rows stay in the data's units, and are not clamped
	options Options

	enclosed *enclosed // nil: nobody asks
}

// layout finds the columns wanted in a file's header.
func (w wanted) layout(name string, header []string) (*layout, error) {
	fields, err := fieldsOf(name, header, w.columns, w.factors, w.options.NA)
	if err != nil {
		return nil, err
	}
	l := &layout{wanted: w, name: name, header: header, fields: fields, inline: slices.Repeat([]int{-1}, len(header))}
	for i, f := range fields {
		l.inline[f.place] = i
	}
	for _, text := range w.options.NA {
		if v, err := parseNumber(text); err == nil {
			l.absent = append(l.absent, v)
		}
	}
	return l, nil
}

// complete finishes a row of which all cells are read. It tells whether the row stays.
func (l *layout) complete(row []float64, missing bool) bool {
	if missing && l.options.Missing == Drop {
		return false
	}
	if l.frame != nil {
		l.frame.Scale(row, row)
	}
	return true
}

// record reads a record of encoding/csv into row.
func (l *layout) record(row []float64, record []string, r *recordReader) (missing bool, err error) {
	for i := range l.fields {
		f := &l.fields[i]
		v, err := f.parse(record[f.place], &l.options)
		none, err := f.put(row, v, err, &l.options)
		if err != nil {
			return false, &Error{l.name, r.line(f.place), f.label, err}
		}
		missing = missing || none
	}
	for i, text := range record {
		if r.lines && strings.IndexByte(text, '\n') >= 0 {
			if err := l.lines(text, r.line(i), l.header[i]); err != nil {
				return false, err
			}
		}
	}
	return missing, nil
}

// lines looks at a cell that has several lines. A comment may have them. But two stray
// quotation marks make one cell of all rows between them: then its lines are rows of this
// table, and that is an error.
func (l *layout) lines(text string, line int, label string) error {
	lines := strings.SplitAfter(text, "\n")
	row := make([]float64, len(l.columns))
	for _, text := range lines[1:] {
		if n, _ := l.line(row, append([]byte(text), '\n')); n > 0 {
			return &Error{l.name, line, label, fmt.Errorf("quotation marks make one cell of %d lines, and some of these are rows: "+
				"remove the marks that are out of place, or the column, if its texts do hold rows", len(lines))}
		}
	}
	l.enclosed.add(l.name, line, len(lines)-1)
	return nil
}

// line reads the line at the beginning of text, which has no quotation marks and ends
// with a line feed, into row, and returns its length; 0 where anything is wrong with
// it: what, encoding/csv and record say.
func (l *layout) line(row []float64, text []byte) (length int, missing bool) {
	last := len(l.inline) - 1
	for i, k := range l.inline {
		delimiter := byte(',')
		if i == last {
			delimiter = '\n'
		}
		if k >= 0 && l.fields[k].number() {
			if v, n := decimal(text[length:]); n > 0 {
				end := length + n
				if i == last && text[end] == '\r' {
					end++
				}
				if text[end] == delimiter && !slices.Contains(l.absent, v) {
					row[l.fields[k].at] = v
					length = end + 1
					continue
				}
			}
		}
		end := length
		for text[end] != ',' && text[end] != '\n' {
			end++
		}
		if text[end] != delimiter {
			return 0, false
		}
		if k >= 0 {
			f, cell := &l.fields[k], text[length:end]
			if i == last {
				cell = bytes.TrimSuffix(cell, []byte("\r"))
			}
			v, err := f.parse(string(cell), &l.options)
			none, err := f.put(row, v, err, &l.options)
			if err != nil {
				return 0, false
			}
			missing = missing || none
		}
		length = end + 1
	}
	return length, missing
}

// enclosed counts the cells that have several lines.
type enclosed struct {
	sync.Mutex
	cells, lines int
	first        Error
}

func (e *enclosed) add(name string, line, lines int) {
	if e == nil {
		return
	}
	e.Lock()
	defer e.Unlock()
	if e.cells == 0 || name < e.first.File || name == e.first.File && line < e.first.Line {
		e.first.File, e.first.Line = name, line
	}
	e.cells++
	e.lines += lines
}

// warning tells of them, nil where there are none.
func (e *enclosed) warning() error {
	if e == nil || e.cells == 0 {
		return nil
	}
	e.first.Err = fmt.Errorf("cells that the model does not use have line ends within quotation marks, %d cells from here on and %d line ends: "+
		"if a mark is out of place, rows are lost in them", e.cells, e.lines)
	return &e.first
}
