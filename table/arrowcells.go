package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/big"
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// arrowBatch is the head of a record batch, or of a dictionary's entries.
type arrowBatch struct {
	head  flatbuffers.Table
	body  *io.SectionReader
	rows  int
	views []int64 // more buffers of each view
}

func newArrowBatch(head flatbuffers.Table, body *io.SectionReader) *arrowBatch {
	b := &arrowBatch{head: head, body: body, rows: int(head.GetInt64Slot(4, 0))}
	_, buffers := vectorOf(&head, 8)
	at, n := vectorOf(&head, 12)
	for i := range n {
		more := head.GetInt64(at + flatbuffers.UOffsetT(8*i))
		if more < 0 || more > int64(buffers) {
			panic(errClaims)
		}
		b.views = append(b.views, more)
	}
	if b.rows < 0 {
		panic(errClaims)
	}
	return b
}

// buffer reads a buffer, and unpacks it. *free is how many bytes there may still be.
func (b *arrowBatch) buffer(i int, free *int) []byte {
	at, n := vectorOf(&b.head, 8)
	if i >= n {
		panic(errClaims)
	}
	at += flatbuffers.UOffsetT(16 * i)
	offset, length := b.head.GetInt64(at), b.head.GetInt64(at+8)
	if offset < 0 || length < 0 || length > b.body.Size()-offset {
		panic(errClaims)
	}
	data := allocate(free, length)
	if read, err := b.body.ReadAt(data, offset); read < len(data) {
		panic(err)
	}
	packed, ok := childOf(&b.head, 10)
	if !ok || length == 0 {
		return data
	}
	size := int64(binary.LittleEndian.Uint64(data))
	if data = data[8:]; size == -1 { // this one is not
		return data
	}
	whole := allocate(free, size)
	if err := unpackArrow(packed.GetByteSlot(4, 0), data, whole); err != nil {
		panic(err)
	}
	return whole
}

// allocate makes a slice, if so much memory is free.
func allocate(free *int, size int64) []byte {
	if size < 0 || size > int64(*free) {
		panic(errLargeBatch)
	}
	*free -= int(size)
	return make([]byte, size)
}

func unpackArrow(codec byte, packed, whole []byte) error {
	var r io.Reader
	switch codec {
	case 0:
		r = lz4.NewReader(bytes.NewReader(packed))
	case 1:
		z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxHeld))
		if err != nil {
			return err
		}
		defer z.Close()
		r = z
	default:
		return errors.New("a codec that is not known")
	}
	_, err := io.ReadFull(r, whole)
	return err
}

// arrowColumn is a column of a batch: bits of the cells that are there, empty where all are; data,
// or ends and texts, or views and what they are of.
type arrowColumn struct {
	*arrowType
	present, data []byte
	texts         [][]byte
}

// column reads the column that is at a place; not its dictionary.
func (b *arrowBatch) column(t *arrowType, at places, free *int) *arrowColumn {
	nodes, n := vectorOf(&b.head, 6)
	if at.node >= n {
		panic(errClaims)
	}
	node := nodes + flatbuffers.UOffsetT(16*at.node)
	if b.head.GetInt64(node) != int64(b.rows) {
		panic(errClaims)
	}
	if t.dictionary != nil {
		t = t.index
	}
	c := &arrowColumn{arrowType: t}
	if t.kind == arrowNull {
		return c
	}
	if missing := b.head.GetInt64(node + 8); missing != 0 {
		if c.present = b.buffer(at.buffer, free); missing > 0 && len(c.present) == 0 {
			panic(errClaims)
		}
	}
	c.data = b.buffer(at.buffer+1, free)
	more := t.buffers - 2
	if t.kind == arrowTextView {
		more = int(b.views[at.view])
	}
	for i := range more {
		c.texts = append(c.texts, b.buffer(at.buffer+2+i, free))
	}
	return c
}

func (c *arrowColumn) missing(i int) bool {
	return c.kind == arrowNull || len(c.present) > 0 && c.present[i/8]>>(i%8)&1 == 0
}

// reads returns what reads a cell that is there, as a field has it.
func (c *arrowColumn) reads(to *cells) func(i int) (float64, error) {
	switch {
	case c.kind == arrowFloat && c.width == 8:
		return func(i int) (float64, error) { return to.number(math.Float64frombits(c.word(i))) }
	case c.kind == arrowFloat && c.width == 4:
		return func(i int) (float64, error) {
			return to.number(float64(math.Float32frombits(uint32(c.word(i)))))
		}
	case c.kind == arrowFloat:
		return func(i int) (float64, error) { return to.number(half(uint16(c.word(i)))) }
	case c.kind == arrowInt && c.unsigned && c.width == 8:
		return func(i int) (float64, error) { return to.text(strconv.FormatUint(c.word(i), 10)) }
	case c.kind == arrowInt:
		return func(i int) (float64, error) { return to.integer(c.integer(i)) }
	case c.kind == arrowBool:
		return func(i int) (float64, error) { return to.text(strconv.FormatBool(c.data[i/8]>>(i%8)&1 == 1)) }
	case c.kind == arrowDecimal:
		return func(i int) (float64, error) { return to.decimal(c.wide(i)) }
	}
	return func(i int) (float64, error) { return to.text(string(c.text(i))) }
}

// word is a number of the column's width, in the low bytes.
func (c *arrowColumn) word(i int) uint64 {
	switch b := c.data[c.width*i:]; c.width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	panic(errClaims)
}

func (c *arrowColumn) integer(i int) int64 {
	v, unused := c.word(i), 64-8*c.width
	if c.unsigned {
		return int64(v)
	}
	return int64(v<<unused) >> unused
}

// wide is an integer of two words.
func (c *arrowColumn) wide(i int) *big.Int {
	b := c.data[16*i:][:16]
	v := new(big.Int).Lsh(big.NewInt(int64(binary.LittleEndian.Uint64(b[8:]))), 64)
	return v.Add(v, new(big.Int).SetUint64(binary.LittleEndian.Uint64(b)))
}

func (c *arrowColumn) text(i int) []byte {
	switch c.kind {
	case arrowText:
		return c.texts[0][binary.LittleEndian.Uint32(c.data[4*i:]):binary.LittleEndian.Uint32(c.data[4*i+4:])]
	case arrowLargeText:
		return c.texts[0][binary.LittleEndian.Uint64(c.data[8*i:]):binary.LittleEndian.Uint64(c.data[8*i+8:])]
	}
	// A view: a length, and a short text itself, or the first four bytes of a long one, the number
	// of its buffer, and its place there.
	view := c.data[16*i:][:16]
	n := binary.LittleEndian.Uint32(view)
	if n <= 12 {
		return view[4 : 4+n]
	}
	return c.texts[binary.LittleEndian.Uint32(view[8:])][binary.LittleEndian.Uint32(view[12:]):][:n]
}

// half is a floating-point number of 16 bits: 5 of the exponent, 10 of the fraction.
func half(v uint16) float64 {
	exponent, fraction := int(v>>10&31), float64(v&1023)
	switch exponent {
	case 0:
		fraction = math.Ldexp(fraction, -24)
	case 31:
		fraction = math.Inf(1) * (1 + fraction) // NaN is refused as infinities are
	default:
		fraction = math.Ldexp(1024+fraction, exponent-25)
	}
	return math.Copysign(fraction, float64(int16(v)))
}
