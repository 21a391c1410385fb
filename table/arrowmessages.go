package table

import (
	"bytes"
	"encoding/binary"
	"errors"
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
