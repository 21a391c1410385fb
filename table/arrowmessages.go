package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Arrow's files and streams are sequences of messages: a head of flatbuffers
// (https://github.com/apache/arrow/blob/main/format/Message.fbs, Schema.fbs and File.fbs), and a
// body of buffers. A file has a footer that says where they are. What reads heads panics where they
// are damaged.

// message is one of them.
type message struct {
	kind   byte
	header flatbuffers.Table
	size   int // of the head, in bytes
	body   *io.SectionReader
}

// messages finds the messages of a stream or file.
type messages struct {
	file   io.ReaderAt
	size   int64 // of the file
	offset int64 // of the next message

	footed bool    // the file has a footer
	blocks []int64 // of the footer: where messages are, but for that of the schema
}

const (
	arrowMagic = "ARROW1" // of a file with a footer, at its start and end
	continued  = 0xffffffff

	kindSchema     = 1
	kindDictionary = 2
	kindBatch      = 3
)

var (
	errClaims  = errors.New("more is claimed than there is")
	errJoined  = errors.New("there is more in the file than it tells of, as of several files put together: their rows would be lost; name them by a directory or a pattern")
	errUnended = errors.New("the stream ends without the mark of its end, and rows may be cut off: write it anew, and close the writer")
)

// footer returns the schema that the footer holds, and the size of that. The file ends with the
// footer, its length in four bytes, and the magic.
func (m *messages) footer() (schema flatbuffers.Table, size int, err error) {
	m.footed = true
	tail := int64(4 + len(arrowMagic))
	m.offset = m.size - tail
	end, err := m.bytes(tail)
	if err != nil || string(end[4:]) != arrowMagic {
		return schema, 0, errArrow
	}
	length := int64(binary.LittleEndian.Uint32(end))
	m.offset = m.size - tail - length
	footer, err := m.bytes(length)
	if err != nil {
		return schema, 0, err
	}
	root := flatbuffers.Table{Bytes: footer, Pos: flatbuffers.GetUOffsetT(footer)}
	var last int64                                       // where the last message ends
	for _, slot := range []flatbuffers.VOffsetT{8, 10} { // dictionaries, and batches
		at, n := vectorOf(&root, slot)
		for i := range n {
			block := at + flatbuffers.UOffsetT(24*i)
			offset := root.GetInt64(block)
			m.blocks = append(m.blocks, offset)
			last = max(last, offset+int64(root.GetInt32(block+8))+root.GetInt64(block+16))
		}
	}
	m.offset = last
	between, err := m.bytes(min(m.size-tail-length-last, maxFooter))
	if err != nil {
		return schema, 0, err
	}
	if last > 0 && bytes.Contains(between, []byte(arrowMagic)) {
		return schema, 0, errJoined
	}
	schema, ok := childOf(&root, 6)
	if !ok {
		return schema, 0, errArrow
	}
	return schema, len(footer), nil
}

// next finds the next message; io.EOF after the last one. In a stream a mark says that it is: the
// format can do without, but then rows that were cut off would be missed by nobody.
func (m *messages) next() (message, error) {
	if m.footed {
		if len(m.blocks) == 0 {
			return message{}, io.EOF
		}
		m.offset, m.blocks = m.blocks[0], m.blocks[1:]
	} else if m.offset == m.size {
		return message{}, errUnended
	}
	size, err := m.word()
	if err == nil && size == continued { // since version 0.15
		size, err = m.word()
	}
	if err != nil {
		return message{}, err
	}
	if size == 0 && !m.footed {
		if m.offset != m.size {
			return message{}, errJoined
		}
		return message{}, io.EOF
	}
	head, err := m.bytes(int64(size))
	if err != nil {
		return message{}, err
	}
	root := flatbuffers.Table{Bytes: head, Pos: flatbuffers.GetUOffsetT(head)}
	header, ok := childOf(&root, 8)
	length := root.GetInt64Slot(10, 0)
	if !ok || length < 0 || length > m.size-m.offset {
		return message{}, errClaims
	}
	body := io.NewSectionReader(m.file, m.offset, length)
	m.offset += length
	return message{root.GetByteSlot(6, 0), header, len(head), body}, nil
}

func (m *messages) word() (uint32, error) {
	b, err := m.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

// bytes reads so many bytes of heads or of the footer, if the file may have them.
func (m *messages) bytes(n int64) ([]byte, error) {
	if n < 0 || m.offset < 0 || n > min(maxFooter, m.size-m.offset) {
		return nil, errClaims
	}
	b := make([]byte, n)
	read, err := m.file.ReadAt(b, m.offset)
	m.offset += n
	if read < len(b) {
		return nil, err
	}
	return b, nil
}

// childOf is the table in a slot of a table.
func childOf(t *flatbuffers.Table, slot flatbuffers.VOffsetT) (flatbuffers.Table, bool) {
	o := flatbuffers.UOffsetT(t.Offset(slot))
	if o == 0 {
		return flatbuffers.Table{}, false
	}
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + o)}, true
}

// vectorOf is where the vector in a slot begins, and how many entries it has.
func vectorOf(t *flatbuffers.Table, slot flatbuffers.VOffsetT) (at flatbuffers.UOffsetT, n int) {
	o := flatbuffers.UOffsetT(t.Offset(slot))
	if o == 0 {
		return 0, 0
	}
	return t.Vector(o), t.VectorLen(o)
}

// arrowType is how the cells of a column are kept (Schema.fbs; Columnar.html has the buffers).
type arrowType struct {
	kind       byte
	width      int  // bytes of an integer, a floating-point number or a decimal
	unsigned   bool // of an integer
	scale      int  // of a decimal
	dictionary *int64
	index      *arrowType // of a column with a dictionary: what its cells are
	children   []arrowType
	buffers    int // of the column itself
}

// Kinds of types.
const (
	arrowNull      = 1
	arrowInt       = 2
	arrowFloat     = 3
	arrowText      = 5
	arrowBool      = 6
	arrowDecimal   = 7
	arrowUnion     = 14
	arrowLargeText = 20
	arrowBytesView = 23
	arrowTextView  = 24
)

// arrowKinds are what an error calls a kind, and how many buffers its columns have besides those of
// children; a union has one more if its children are dense, a view as many more as the batch says.
var arrowKinds = []struct {
	name    string
	buffers int
	nested  bool
}{
	{"none", 0, false}, {"null", 0, false}, {"integer", 2, false}, {"floating point", 2, false}, {"binary", 3, false},
	{"text", 3, false}, {"boolean", 2, false}, {"decimal", 2, false}, {"date", 2, false}, {"time", 2, false},
	{"timestamp", 2, false}, {"interval", 2, false}, {"list", 2, true}, {"struct", 1, true}, {"union", 1, true},
	{"fixed-size binary", 2, false}, {"fixed-size list", 1, true}, {"map", 2, true}, {"duration", 2, false}, {"large binary", 3, false},
	{"large text", 3, false}, {"large list", 2, true}, {"run-end encoded", 0, false}, {"binary view", 2, false}, {"text view", 2, false},
	{"list view", 3, true}, {"large list view", 3, true},
}

func (t arrowType) String() string {
	name := arrowKinds[t.kind].name
	if t.dictionary != nil {
		return "dictionary of " + name
	}
	return name
}

var errBigEndian = errors.New("the file's numbers have their largest byte first: write it anew on another machine")

// arrowSchema reads the columns of a schema. A field takes four bytes of its head at least, so that
// there are at most left.
func arrowSchema(t *flatbuffers.Table, left int) (names []string, types []arrowType, err error) {
	if t.GetInt16Slot(4, 0) != 0 {
		return nil, nil, errBigEndian
	}
	at, n := vectorOf(t, 6)
	for i := range n {
		field := entryOf(t, at, i)
		from, length := vectorOf(&field, 4)
		names = append(names, string(field.Bytes[from:int(from)+length]))
		typ, err := newArrowType(&field, &left, 0)
		if err != nil {
			return nil, nil, err
		}
		types = append(types, typ)
	}
	return names, types, nil
}

// entryOf is an entry of a vector of tables.
func entryOf(t *flatbuffers.Table, at flatbuffers.UOffsetT, i int) flatbuffers.Table {
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + flatbuffers.UOffsetT(4*i))}
}

func newArrowType(field *flatbuffers.Table, left *int, depth int) (t arrowType, err error) {
	if *left--; *left < 0 || depth > maxNested {
		return t, errClaims
	}
	t.kind = field.GetByteSlot(8, 0)
	if int(t.kind) >= len(arrowKinds) {
		return t, fmt.Errorf("a column is of a type that is not known, of number %d", t.kind)
	}
	t.buffers = arrowKinds[t.kind].buffers
	if detail, ok := childOf(field, 10); ok {
		t.describe(&detail)
	}
	at, n := vectorOf(field, 14)
	for i := range n {
		child := entryOf(field, at, i)
		c, err := newArrowType(&child, left, depth+1)
		if err != nil {
			return t, err
		}
		t.children = append(t.children, c)
	}
	if coded, ok := childOf(field, 12); ok {
		id := coded.GetInt64Slot(4, 0)
		t.dictionary, t.index = &id, &arrowType{kind: arrowInt, width: 4, buffers: 2}
		if detail, ok := childOf(&coded, 6); ok {
			t.index.describe(&detail)
		}
	}
	return t, nil
}

// describe reads what a kind says of itself.
func (t *arrowType) describe(detail *flatbuffers.Table) {
	switch t.kind {
	case arrowInt:
		t.width, t.unsigned = int(detail.GetInt32Slot(4, 0))/8, detail.GetByteSlot(6, 0) == 0
	case arrowFloat:
		t.width = 2 << detail.GetInt16Slot(4, 0)
	case arrowDecimal:
		t.scale, t.width = int(detail.GetInt32Slot(6, 0)), int(detail.GetInt32Slot(8, 128))/8
	case arrowUnion:
		t.buffers += int(detail.GetInt16Slot(4, 0))
	}
}

// check tells whether cells of this type can be what the field wants, as newLeaf does.
func (t *arrowType) check(f *field) error {
	fits := false
	switch {
	case arrowKinds[t.kind].nested:
		return errNotCells
	case t.kind == arrowNull, t.kind == arrowInt, t.kind == arrowText, t.kind == arrowLargeText, t.kind == arrowTextView:
		fits = true
	case t.kind == arrowFloat, t.kind == arrowDecimal && t.width == 16:
		fits = f.numeric()
	case t.kind == arrowBool:
		fits = !f.number()
	}
	if !fits {
		return f.ofType(t)
	}
	return nil
}

// places counts what columns before this one take of a batch: nodes, buffers, and views.
type places struct{ node, buffer, view int }

// after is where what follows a column of this type begins; views are how many more buffers each
// view has.
func (p places) after(t *arrowType, views []int64) places {
	p.node++
	if t.dictionary != nil {
		p.buffer += t.index.buffers
		return p
	}
	p.buffer += t.buffers
	if t.kind == arrowTextView || t.kind == arrowBytesView {
		p.buffer += int(views[p.view])
		p.view++
	}
	for i := range t.children {
		p = p.after(&t.children[i], views)
	}
	return p
}
