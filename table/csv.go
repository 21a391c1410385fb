// Package table reads rows and hands them on clamped to public bounds, in scaled
// units. It is one of the few packages that see a person's row.
package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/dpreg/dpreg/schema"
)

var errNoRows = errors.New("there are no rows after the header")

// CSV reads comma-separated values with a header (RFC 4180; a UTF-8 byte order
// mark, either line ending and empty lines are allowed) and yields one row after
// another, clamped to the bounds of d and in scaled units: length m, in the order
// (x_1, ..., x_p, y). name is what errors call the file.
//
// The dummies of a factor come from the cell of one column, which has the factor's
// name and holds one of its levels; a boolean one holds true, True, TRUE or 1, or
// false, False, FALSE or 0. Cells are read without the spaces around them.
//
// The yielded slice is reused: copy what must last. Memory is constant, whatever
// the number of rows. Only the columns of d are parsed; the others may hold
// anything. The sequence reads r, so it can be used once.
//
// The first error ends the sequence and is an *Error, except for an invalid
// design and options that do not exist: a bad header, a column of d that is not there, a level that
// means missing, a row with another number
// of fields, quotes out of place, a record over 1 MB, a cell that is missing
// (ErrMissing, unless o.Missing says otherwise), no finite decimal number, no
// truth value or none of the levels, a file without rows unless o.Empty.
func (o Options) CSV(r io.Reader, name string, d *schema.Design) iter.Seq2[[]float64, error] {
	in := &stdin{Reader: bufio.NewReader(r)}
	return o.Rows(&Source{Name: name, Files: []File{{Stdin, CSVFormat}}, Form: o.Form, stdin: in}, d)
}

// textFile is a file of comma-separated values or of JSON lines, of which parts are blocks.
type textFile struct {
	blocks *blockReader
	layout *layout
	first  *block // what follows the header in its block, until a worker takes it
}

// openText reads the names of the columns, of comma-separated values or of JSON lines.
func openText(blocks *blockReader, w wanted) (*textFile, error) {
	f := &textFile{blocks: blocks, first: &block{}}
	header, err := blocks.names(f.first, w.names())
	if err != nil {
		return nil, err
	}
	if f.layout, err = w.layout(blocks.name, header, blocks.form.Delim); err != nil {
		return nil, err
	}
	return f, nil
}

// names are those of the columns; b gets what follows them.
func (r *blockReader) names(b *block, known []string) ([]string, error) {
	if r.json {
		return r.keys(b)
	}
	return r.header(b, known)
}

func (f *textFile) next(w *worker) error {
	if f.first != nil {
		w.block, f.first = *f.first, nil
		return nil
	}
	return f.blocks.next(&w.block)
}

func (f *textFile) parse(w *worker, _ int) error {
	if f.blocks.json {
		return w.objects(f.layout)
	}
	return w.lines(f.layout)
}

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
	r.Comma = rune(b.delim)
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
		err = fmt.Errorf("%d fields where the header has %d, separated by %s", len(record), r.csv.FieldsPerRecord, delimName(byte(r.csv.Comma)))
	default:
		err = fmt.Errorf("a quotation mark is out of place or never closed (fields are separated by %s)", delimName(byte(r.csv.Comma)))
	}
	return nil, &Error{File: r.name, Line: r.before + malformed.StartLine, Err: err}
}

// line is the line on which field i of the last record begins.
func (r *recordReader) line(i int) int {
	line, _ := r.csv.FieldPos(i)
	return r.before + line
}

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
// The form is that of the options, with what separates fields. Errors are *Error, as of CSV: those of the header
// come at once, the first one of the rows ends the sequence. A file without rows is one, unless o.Empty.
func (o Options) Columns(r io.Reader, name string, columns []schema.Column, factors []schema.Factor) (header []string, form Form, rows iter.Seq2[Row, error], err error) {
	if o, err = o.Settle(); err != nil {
		return nil, Form{}, nil, err
	}
	enclosed := &enclosed{}
	f, err := openText(o.Form.read(r, name), wanted{columns: columns, factors: factors, options: o, enclosed: enclosed})
	if err != nil {
		return nil, Form{}, nil, err
	}
	blocks, b, l := f.blocks, f.first, f.layout
	return l.header, blocks.form, func(yield func(Row, error) bool) {
		row, some := Row{Values: make([]float64, len(columns)), enclosed: enclosed}, false
		for {
			for records := b.records(name, len(l.header)); ; some = true {
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
	if wrong := (*wrongCell)(nil); errors.As(err, &wrong) { // whose rows are new has no such options
		err.(*Error).Err = errors.New(wrong.wrong)
	}
	return l.complete(row.Values, missing), err
}

// A stream is read in blocks of whole records, which can be parsed apart from each
// other. maxRecord bounds a record, in bytes, give or take a block: without it a quote
// that is never closed would pull the rest of the file into memory.
const (
	blockSize = 1 << 18
	maxRecord = 1 << 20
)

var errRecord = fmt.Errorf("a record is longer than %d bytes; is a quotation mark never closed, "+
	"or do lines end with a carriage return alone?", maxRecord)

const byteOrderMark = "\ufeff"

// block is a part of a stream: whole records. Without quotation marks each is a line
// that ends with a line feed.
type block struct {
	text   []byte
	delim  byte
	line   int // on which it begins, 1-based
	quoted bool
	lines  bool // quotation marks enclose a line feed
}

func (b *block) skip(n int) {
	b.line += bytes.Count(b.text[:n], []byte("\n"))
	b.text = b.text[n:]
}

// blockReader cuts a stream into blocks, at line feeds before which the number of
// quotation marks is even. These are the ends of records (RFC 4180) as long as records
// are sound; and the first one that is not begins where a block or a record before it
// ends, so that encoding/csv finds it in its place.
type blockReader struct {
	name string
	r    io.Reader
	form Form   // its Delim is that of the file once the header is read
	json bool   // JSON lines: every line feed ends a record
	size int    // of a block, about
	rest []byte // read, and in no block yet
	line int    // on which rest begins, 1-based; 0 at the beginning of the stream
	err  error  // of r
}

// read reads r, of which errors have this name.
func (f Form) read(r io.Reader, name string) *blockReader {
	return &blockReader{name: name, r: f.decoded(r), form: f, size: blockSize}
}

// next reads the next block into b, of which the memory is used again; io.EOF after
// the last one.
func (r *blockReader) next(b *block) error {
	text := append(b.text[:0], r.rest...)
	end := 0
	for size := r.size; end == 0; size += r.size {
		text = r.fill(text, size)
		if end, b.quoted, b.lines = bytes.LastIndexByte(text, '\n')+1, false, false; !r.json {
			end, b.quoted, b.lines = lastBorder(text)
		}
		switch {
		case r.err == io.EOF && len(text) == 0:
			return io.EOF
		case r.err == io.EOF:
			end = len(text)
		case end == 0 && r.err != nil:
			return r.fail(r.err)
		case end == 0 && len(text) > maxRecord:
			return r.fail(errRecord)
		}
	}
	r.rest = append(r.rest[:0], text[end:]...)
	b.text, b.line, b.delim = text[:end], r.line, r.form.Delim
	r.line += bytes.Count(b.text, []byte("\n"))
	if !b.quoted && b.text[end-1] != '\n' {
		b.text = append(b.text, '\n')
	}
	return nil
}

// fill reads until text has size bytes, or to the end of the stream. A byte order mark
// at its beginning is left out.
func (r *blockReader) fill(text []byte, size int) []byte {
	for len(text) < size && r.err == nil {
		if cap(text) < size {
			text = append(make([]byte, 0, size+1), text...) // and a line feed
		}
		var n int
		n, r.err = r.r.Read(text[len(text):size])
		text = text[:len(text)+n]
	}
	if r.line == 0 {
		r.line = 1
		text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	}
	return text
}

func (r *blockReader) fail(err error) error {
	return &Error{File: r.name, Err: fmt.Errorf("after line %d: %w", r.line-1, err)}
}

// lastBorder is the end of the last line feed that quotation marks do not enclose, 0
// where there is none. lines tells whether they enclose one.
func lastBorder(text []byte) (end int, quoted, lines bool) {
	if bytes.IndexByte(text, '"') < 0 {
		return bytes.LastIndexByte(text, '\n') + 1, false, false
	}
	enclosed := false
	for i, c := range text {
		switch {
		case c == '"':
			enclosed = !enclosed
		case c == '\n' && !enclosed:
			end = i + 1
		case c == '\n':
			lines = true
		}
	}
	return end, true, lines
}
