package table

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Arrow files (https://arrow.apache.org/docs/format/Columnar.html): those with a footer, which
// Feather's version 2 is, and streams. Parts are record batches.

var (
	errArrow      = errors.New("this is no Arrow file or stream, or it is cut off, or written in a way that is not known")
	errFeather    = errors.New("this is a file of Feather's version 1: write it anew as version 2, which pyarrow, pandas and R's arrow do by default")
	errLargeBatch = fmt.Errorf("a record batch needs more than %d bytes, or is damaged: write the file anew, with smaller batches", maxHeld)
)

// arrowFile is an open Arrow file or stream.
type arrowFile struct {
	messages
	types []arrowType
}

func (f *arrowFile) open(file *os.File, size int64) (names []string, err error) {
	f.messages = messages{file: file, size: size}
	first := make([]byte, len(arrowMagic))
	if _, err := file.ReadAt(first, 0); err != nil {
		return nil, err
	}
	if strings.HasPrefix(string(first), "FEA1") {
		return nil, errFeather
	}
	if string(first) == arrowMagic {
		schema, size, err := f.footer()
		if err == nil {
			names, f.types, err = arrowSchema(&schema, size/4)
		}
		return names, err
	}
	m, err := f.next()
	if err != nil {
		return nil, err
	}
	if m.kind != kindSchema {
		return nil, errArrow
	}
	names, f.types, err = arrowSchema(&m.header, m.size/4)
	return names, err
}

// arrowRows reads the rows of an Arrow file.
type arrowRows struct {
	*arrowFile
	layout   *layout
	progress func(bytes int64)

	line         int // of the next batch's first row
	dictionaries map[int64]*arrowDictionary
	entries      []decoded // of each field's dictionary, as they are now
}

// arrowDictionary has the entries of a dictionary, in one piece or several.
type arrowDictionary struct {
	pieces  []*arrowBatch
	changed bool // since a batch was read
}

func (f *arrowFile) rows(l *layout, progress func(bytes int64)) (rowsFile, error) {
	for i := range l.fields {
		field := &l.fields[i]
		if err := f.types[field.place].check(field); err != nil {
			return nil, &Error{File: l.name, Column: field.label, Err: err}
		}
	}
	return &arrowRows{
		arrowFile: f, layout: l, progress: progress, line: 1,
		dictionaries: make(map[int64]*arrowDictionary), entries: make([]decoded, len(l.fields)),
	}, nil
}

// arrowPart is a record batch: the line of its first row, and the dictionaries' entries.
type arrowPart struct {
	*arrowBatch
	line    int
	entries []decoded
}

// next finds the next record batch, and reads the dictionaries that come before it.
func (f *arrowRows) next(w *worker) error {
	err := soundly(func() error {
		for {
			m, err := f.messages.next()
			if err != nil {
				return err
			}
			switch m.kind {
			case kindDictionary:
				f.dictionary(&m)
			case kindBatch:
				w.arrow = arrowPart{newArrowBatch(m.header, m.body), f.line, f.decodedEntries()}
				f.line += w.arrow.rows
				return nil
			default:
				return errClaims
			}
		}
	})
	if err != nil && err != io.EOF {
		return f.damaged(f.line, "", err)
	}
	return err
}

// damaged is the error of what cannot be read.
func (f *arrowRows) damaged(line int, column string, err error) error {
	if err != errLargeBatch && err != errJoined && err != errUnended {
		err = errPage
	}
	return &Error{f.layout.name, line, column, err}
}

// dictionary takes the entries of a dictionary, or more of them.
func (f *arrowRows) dictionary(m *message) {
	entries, ok := childOf(&m.header, 6)
	if !ok {
		panic(errClaims)
	}
	d := f.dictionaries[m.header.GetInt64Slot(4, 0)]
	if more := m.header.GetByteSlot(8, 0) != 0; d == nil || !more {
		d = &arrowDictionary{}
		f.dictionaries[m.header.GetInt64Slot(4, 0)] = d
	}
	d.pieces, d.changed = append(d.pieces, newArrowBatch(entries, m.body)), true
}

// decodedEntries reads the entries of the dictionaries of fields, where they have changed.
func (f *arrowRows) decodedEntries() []decoded {
	free := maxHeld
	entries := append([]decoded(nil), f.entries...) // workers have those before
	for i := range f.layout.fields {
		field := &f.layout.fields[i]
		t := &f.types[field.place]
		if t.dictionary == nil {
			continue
		}
		d := f.dictionaries[*t.dictionary]
		if d == nil || !d.changed {
			continue
		}
		values := *t
		values.dictionary = nil
		c := cells{field: field, layout: f.layout, scale: t.scale}
		for _, piece := range d.pieces {
			column := piece.column(&values, places{}, &free)
			c.decode(column, column.reads(&c), 0, piece.rows)
		}
		entries[i] = c.decoded
	}
	for _, d := range f.dictionaries {
		d.changed = false
	}
	f.entries = entries
	return entries
}

// decode adds the cells from one to before another, as read reads those that are there.
func (c *cells) decode(column *arrowColumn, read func(i int) (float64, error), from, to int) {
	for i := from; i < to; i++ {
		if column.missing(i) {
			c.add(0, ErrMissing)
		} else {
			c.add(read(i))
		}
	}
}

// parse reads a record batch, some rows at a time.
func (f *arrowRows) parse(w *worker, _ int) error {
	part, free := w.arrow, maxHeld
	columns, arrows := make([]*cells, len(f.layout.fields)), make([]*arrowColumn, len(f.layout.fields))
	line, end := part.line, part.line+part.rows
	failed := func(column string, err error) error {
		return cmp.Or(w.flush(), f.damaged(line, column, err))
	}
	for i := range columns {
		field := &f.layout.fields[i]
		columns[i] = &cells{field: field, layout: f.layout, scale: f.types[field.place].scale}
		if err := soundly(func() error {
			arrows[i] = f.column(part.arrowBatch, field, &free)
			return nil
		}); err != nil {
			return failed(field.label, err)
		}
	}
	for line < end {
		n := min(batch, end-line)
		for i, c := range columns {
			if err := soundly(func() error {
				c.clear()
				c.next = 0
				from, column := line-part.line, arrows[i]
				read := column.reads(c)
				if f.types[c.field.place].dictionary != nil { // a cell stands for an entry
					read = func(at int) (float64, error) { return part.entries[i].at(int(column.integer(at))) }
				}
				c.decode(column, read, from, from+n)
				return nil
			}); err != nil {
				return failed(c.field.label, err)
			}
		}
		took, err := w.columns(f.layout, columns, n, line)
		if err != nil {
			return err
		}
		line += took
	}
	f.progress(part.body.Size())
	return w.flush()
}

func (f *arrowRows) column(b *arrowBatch, field *field, free *int) *arrowColumn {
	var at places
	for i := range field.place {
		at = at.after(&f.types[i], b.views)
	}
	return b.column(&f.types[field.place], at, free)
}
