package table

import (
	"bytes"
	"fmt"
	"io"
)

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
	line   int // on which it begins, 1-based
	quoted bool
	lines  bool // quotation marks enclose a line feed
}

// skip takes away the first n bytes.
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
	size int    // of a block, about
	rest []byte // read, and in no block yet
	line int    // on which rest begins, 1-based; 0 at the beginning of the stream
	err  error  // of r
}

// newBlockReader reads r; name is what errors call it.
func newBlockReader(r io.Reader, name string) *blockReader {
	return &blockReader{name: name, r: r, size: blockSize}
}

// next reads the next block into b, of which the memory is used again; io.EOF after
// the last one.
func (r *blockReader) next(b *block) error {
	text := append(b.text[:0], r.rest...)
	end := 0
	for size := r.size; end == 0; size += r.size {
		text = r.fill(text, size)
		end, b.quoted, b.lines = lastBorder(text)
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
	b.text, b.line = text[:end], r.line
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
