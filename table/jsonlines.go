package table

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/dpreg/dpreg/internal/jsontree"
	"github.com/dpreg/dpreg/schema"
)

// JSON lines: each line is an object, a row, whose members are its cells. The columns are the
// members of the first one; a member that a row has not, or that is null, is a missing cell. Errors
// hold nothing of a row but its line.

var (
	errNoObject = errors.New("a line is no JSON object, or a key stands twice in it")
	errNested   = errors.New("a cell is an object or a list, and not a number, a text, true, false or null")
)

// keys reads the first block into b, and gives the members of its first object.
func (r *blockReader) keys(b *block) ([]string, error) {
	if err := r.next(b); err == io.EOF {
		return nil, &Error{File: r.name, Err: errors.New("the file is empty; its first line must be a JSON object whose members are the columns")}
	} else if err != nil {
		return nil, err
	}
	var names []string
	line, text := 1, b.text
	for len(bytes.TrimSpace(text)) > 0 && len(bytes.TrimSpace(text[:bytes.IndexByte(text, '\n')])) == 0 {
		text = text[bytes.IndexByte(text, '\n')+1:]
		line++
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	fail := func(err error) ([]string, error) { return nil, &Error{File: r.name, Line: line, Err: err} }
	if start, err := d.ReadToken(); err != nil || start.Kind() != '{' {
		return fail(errNoObject)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return fail(errNoObject)
		}
		names = append(names, name.String())
		if d.SkipValue() != nil {
			return fail(errNoObject)
		}
	}
	if _, err := schema.FromHeader(names); err != nil {
		return fail(fmt.Errorf("names of members: %w", err))
	}
	return names, nil
}

// objects parses a block of them.
func (w *worker) objects(l *layout) error {
	line := w.block.line
	for text := range bytes.Lines(w.block.text) {
		if len(bytes.TrimSpace(text)) > 0 {
			row := w.row()
			missing, err := l.object(row, text, line)
			if err == nil {
				err = w.finish(l, row, missing)
			}
			if err != nil {
				return cmp.Or(w.flush(), err)
			}
		}
		line++
	}
	return w.flush()
}

func (l *layout) object(row []float64, text []byte, line int) (missing bool, err error) {
	tree, err := jsontree.Decode(text)
	cells, ok := tree.(map[string]any)
	if err != nil || !ok {
		return false, &Error{File: l.name, Line: line, Err: errNoObject}
	}
	for i := range l.fields {
		f := &l.fields[i]
		v, err := f.json(cells[l.header[f.place]], &l.options)
		none, err := f.put(row, v, err, &l.options)
		if err != nil {
			return false, &Error{l.name, line, f.label, err}
		}
		missing = missing || none
	}
	return missing, nil
}

// json reads a cell: a number as it is, anything else as the text that a file of values would have.
func (f *field) json(cell any, o *Options) (float64, error) {
	switch cell := cell.(type) {
	case nil:
		return 0, ErrMissing
	case string:
		return f.parse(cell, o)
	case bool:
		return f.parse(fmt.Sprint(cell), o)
	case jsontree.Number:
		points := *o
		points.Form.Comma = false
		return f.parse(string(cell), &points)
	}
	return 0, errNested
}
