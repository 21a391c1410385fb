package table

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// page holds the cells of a column, some rows after another.
type page struct {
	cells   int
	levels  []byte // 0 of a missing cell; nil where none is
	n       int    // cells that are not missing
	values  encoding.Values
	indexed bool // values are places in the dictionary
}

// pages reads the pages of a column chunk. Those of the library take memory for whatever
// a damaged file claims; here a page is checked before it is unpacked and decoded.
type pages struct {
	file     io.ReaderAt
	at, end  int64
	codec    format.CompressionCodec
	kind     format.Type
	optional bool
	left     int64 // cells
	free     *int  // bytes that the columns may still take; all columns of a worker have one
	held     int   // bytes of the largest page so far

	dictionary page

	head, packed, text, decoded []byte // memory that is used again
	offsets                     []uint32
	gzip                        gzip.Reader
	zstd                        *zstd.Decoder
}

// newPages reads a column's chunk of a row group. free is what maxHeld leaves.
func newPages(f *parquetFile, c *parquetColumn, group *format.RowGroup, free *int) *pages {
	chunk := &group.Columns[c.place].MetaData
	p := &pages{file: f.file, at: chunk.DataPageOffset, codec: chunk.Codec, kind: c.Type.V, optional: c.repeats(format.Optional), left: group.NumRows, free: free}
	if chunk.DictionaryPageOffset != 0 {
		p.at = chunk.DictionaryPageOffset
	}
	p.end = min(p.at+chunk.TotalCompressedSize, f.size)
	return p
}

// plainDictionary is what older files call both the encoding of a dictionary, Plain, and
// that of places in it, RLEDictionary.
const plainDictionary format.Encoding = 2

// next reads the next page with cells; what it returns stands until the next one.
func (p *pages) next() (page, error) {
	for {
		h, err := p.header()
		if err != nil {
			return page{}, err
		}
		switch packed, err := p.read(h); {
		case err != nil:
			return page{}, err
		case h.DictionaryPageHeader.Valid:
			d := &h.DictionaryPageHeader.V
			text, err := p.unpacked(packed, int(h.UncompressedPageSize))
			if err != nil {
				return page{}, err
			}
			as := d.Encoding
			if as == plainDictionary {
				as = format.Plain
			}
			// The dictionary outlasts the page.
			values, err := p.decode(bytes.Clone(text), make([]uint32, d.NumValues+1), as, int(d.NumValues))
			if err != nil {
				return page{}, err
			}
			p.dictionary = page{n: int(d.NumValues), values: values}
		case h.DataPageHeader.Valid:
			return p.first(&h.DataPageHeader.V, packed, int(h.UncompressedPageSize))
		case h.DataPageHeaderV2.Valid:
			return p.second(&h.DataPageHeaderV2.V, packed, int(h.UncompressedPageSize))
		}
	}
}

// header reads what a page says of itself.
func (p *pages) header() (*format.PageHeader, error) {
	for size := int64(1 << 12); ; size *= 16 {
		size = max(0, min(size, maxPageHeader, p.end-p.at))
		if int64(len(p.head)) < size {
			p.head = make([]byte, size)
		}
		head := p.head[:size]
		if _, err := p.file.ReadAt(head, p.at); err != nil {
			return nil, err
		}
		var length int
		if soundly(func() error {
			length = len(head) - len((&thriftWalk{len(head)}).structure(head, 0))
			return nil
		}) != nil {
			if size == maxPageHeader || size >= p.end-p.at {
				return nil, errPage
			}
			continue
		}
		p.at += int64(length)
		h := &format.PageHeader{}
		return h, thrift.Unmarshal(&thrift.CompactProtocol{}, head[:length], h)
	}
}

// read reads a page as it stands in the file.
func (p *pages) read(h *format.PageHeader) ([]byte, error) {
	size := int64(h.CompressedPageSize)
	values := []int32{h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues}
	if size < 0 || size > p.end-p.at || h.UncompressedPageSize < 0 || slices.Min(values) < 0 {
		return nil, errPage
	}
	if max(size, int64(h.UncompressedPageSize)) > maxPage || slices.Max(values) > maxPageValues {
		return nil, errLargePage
	}
	if err := p.hold(h); err != nil {
		return nil, err
	}
	text := sized(&p.packed, int(size))
	if _, err := p.file.ReadAt(text, p.at); err != nil {
		return nil, err
	}
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(text) {
		return nil, errPage
	}
	p.at += size
	return text, nil
}

// hold takes what a page needs from the bytes that are free. Memory is used again: a page
// takes what it needs above the largest one before it; a dictionary stays. A cell has a
// level, of a byte, and a value of up to 8 bytes; one of a dictionary a place in its text,
// a value and an error.
func (p *pages) hold(h *format.PageHeader) error {
	need := int(h.CompressedPageSize) + int(h.UncompressedPageSize)
	need += 9 * int(max(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues))
	if h.DictionaryPageHeader.Valid {
		*p.free -= need + 28*int(h.DictionaryPageHeader.V.NumValues)
	} else if need > p.held {
		*p.free -= need - p.held
		p.held = need
	}
	if *p.free < 0 {
		return errLargePage
	}
	return nil
}

// first reads a data page of version 1, which is packed as a whole.
func (p *pages) first(h *format.DataPageHeader, packed []byte, size int) (page, error) {
	text, err := p.unpacked(packed, size)
	if err != nil {
		return page{}, err
	}
	var marks []byte
	if p.optional {
		length := binary.LittleEndian.Uint32(text)
		marks, text = text[4:][:length], text[4+length:]
		if h.DefinitionLevelEncoding != format.RLE {
			return page{}, errPage
		}
	}
	return p.cells(marks, text, h.Encoding, int(h.NumValues))
}

// second reads a data page of version 2, of which the levels are not packed.
func (p *pages) second(h *format.DataPageHeaderV2, packed []byte, size int) (page, error) {
	repeated, marked := int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	marks, text := packed[repeated:][:marked], packed[repeated+marked:]
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		var err error
		if text, err = p.unpacked(text, size-repeated-marked); err != nil {
			return page{}, err
		}
	}
	if !p.optional {
		marks = nil
	}
	return p.cells(marks, text, h.Encoding, int(h.NumValues))
}

func (p *pages) cells(marks, text []byte, as format.Encoding, n int) (c page, err error) {
	if int64(n) > p.left {
		return c, errPage
	}
	p.left -= int64(n)
	c.cells, c.n = n, n
	if len(marks) > 0 {
		if c.levels, err = levels(marks, n); err != nil {
			return c, err
		}
		missing := bytes.Count(c.levels, []byte{0})
		if c.n -= missing; missing == 0 {
			c.levels = nil
		}
	}
	if as == plainDictionary {
		as = format.RLEDictionary
	}
	c.indexed = as == format.RLEDictionary
	if c.n > 0 {
		c.values, err = p.decode(text, sized(&p.offsets, c.n+1), as, c.n)
	}
	return c, err
}

// decode decodes n values. Their memory is text, offsets, and p.decoded.
func (p *pages) decode(text []byte, offsets []uint32, as format.Encoding, n int) (values encoding.Values, err error) {
	if err = checkValues(text, as, n); err != nil {
		return values, err
	}
	kind, codec, memory := p.kind, encodingOf(as), text
	if as == format.RLEDictionary {
		if len(text) == 0 { // some writers leave out places that are all 0
			return encoding.Int32Values(make([]int32, n)), nil
		}
		kind = format.Int32
	}
	if !codec.CanDecodeInPlace() {
		size := (n*bitsOf[kind] + 7) / 8
		if kind == format.ByteArray {
			size = codec.EstimateDecodeByteArraySize(text)
		}
		memory = sized(&p.decoded, size)
	}
	if values, err = decodeAs(kind, memory, offsets, text, codec); err != nil {
		return values, errPage
	}
	data, ends := values.Data()
	there := len(ends) - 1
	if kind != format.ByteArray {
		there = 8 * len(data) / bitsOf[kind]
	}
	if there < n {
		return values, errPage
	}
	return values, nil
}

// bitsOf are those of a value.
var bitsOf = map[format.Type]int{format.Boolean: 1, format.Int32: 32, format.Float: 32, format.Int64: 64, format.Double: 64}

// decodeAs decodes values of a kind.
func decodeAs(kind format.Type, memory []byte, offsets []uint32, text []byte, codec encoding.Encoding) (encoding.Values, error) {
	switch kind {
	case format.Boolean:
		return encoding.DecodeBoolean(encoding.BooleanValues(memory), text, codec)
	case format.Int32:
		return encoding.DecodeInt32(encoding.Int32ValuesFromBytes(memory), text, codec)
	case format.Int64:
		return encoding.DecodeInt64(encoding.Int64ValuesFromBytes(memory), text, codec)
	case format.Float:
		return encoding.DecodeFloat(encoding.FloatValuesFromBytes(memory), text, codec)
	case format.Double:
		return encoding.DecodeDouble(encoding.DoubleValuesFromBytes(memory), text, codec)
	default:
		return encoding.DecodeByteArray(encoding.ByteArrayValues(memory, offsets), text, codec)
	}
}

func encodingOf(as format.Encoding) encoding.Encoding {
	switch as {
	case format.Plain:
		return &plain.Encoding{}
	case format.RLE:
		return &rle.Encoding{}
	case format.RLEDictionary:
		return &rle.DictionaryEncoding{}
	case format.DeltaBinaryPacked:
		return &delta.BinaryPackedEncoding{}
	case format.DeltaLengthByteArray:
		return &delta.LengthByteArrayEncoding{}
	case format.DeltaByteArray:
		return &delta.ByteArrayEncoding{}
	case format.ByteStreamSplit:
		return &bytestreamsplit.Encoding{}
	default:
		return encoding.NotSupported{}
	}
}

// unpacked unpacks a page that has up to size bytes then, into memory that is there: the library's
// own doubles it for as long as a page has more, or its LZ4_RAW is damaged.
func (p *pages) unpacked(packed []byte, size int) ([]byte, error) {
	if p.codec == format.Uncompressed || size <= 0 {
		return packed, nil
	}
	text := sized(&p.text, size)
	n, err := p.unpack(text, packed)
	if err != nil {
		return nil, errPage
	}
	return text[:n], nil
}

// sized is memory of n elements, which is used again.
func sized[T any](memory *[]T, n int) []T {
	if cap(*memory) < n {
		*memory = make([]T, n)
	}
	return (*memory)[:n]
}

// unpack returns how many bytes of text it wrote; that they do not fit is an error.
func (p *pages) unpack(text, packed []byte) (n int, err error) {
	switch p.codec {
	case format.Snappy:
		if n, err = snappy.DecodedLen(packed); err == nil && n <= len(text) {
			_, err = snappy.Decode(text, packed)
			return n, err
		}
	case format.Lz4Raw:
		return lz4.UncompressBlock(packed, text)
	case format.Zstd:
		if p.zstd == nil {
			p.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return 0, err
			}
		}
		out, err := p.zstd.DecodeAll(packed, text[:0:len(text)])
		return len(out), err
	case format.Gzip:
		if err := p.gzip.Reset(bytes.NewReader(packed)); err != nil {
			return 0, err
		}
		return fill(text, &p.gzip)
	case format.Brotli:
		return fill(text, brotli.NewReader(bytes.NewReader(packed)))
	}
	return 0, errPage // more is packed than was said, or in a way that is not known
}

// fill reads all of r into text.
func fill(text []byte, r io.Reader) (n int, err error) {
	n, err = io.ReadFull(r, text)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, nil
	}
	if err == nil {
		if more, _ := r.Read(make([]byte, 1)); more > 0 {
			err = errPage
		}
	}
	return n, err
}
