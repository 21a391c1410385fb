package table

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// A Parquet file says how long its lists, pages and runs are, a few bytes may claim 2³¹
// of anything, and the library takes memory for what is claimed. What is here looks at
// each claim before the library sees it: against the bytes that are there, and against
// these limits.
const (
	maxFooter     = 64 << 20  // bytes
	maxPage       = 128 << 20 // bytes, packed or not; DuckDB's end at 100 MiB
	maxPageValues = 1 << 24   // cells of a page
	maxHeld       = 1 << 30   // bytes of the pages that a worker holds, one of each column
	maxPageHeader = 1 << 20   // bytes
	maxNested     = 32        // structs and lists in each other
)

var (
	errPage      = errors.New("the file is damaged here, or written in a way that is not known")
	errLargePage = fmt.Errorf("a page of the file has more than %d bytes or %d cells, or a page of each column needs more than %d bytes together, or the file is damaged: "+
		"write it anew, with smaller pages or row groups", maxPage, maxPageValues, maxHeld)
)

// thriftWalk passes over values of Thrift's compact protocol
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
// Its methods return what follows the value; they panic where it is cut off. In a sound
// footer or header a struct has four bytes on average, at least, while the library takes
// hundreds for an empty one: left is how many there may still be.
type thriftWalk struct{ left int }

// structure passes over a struct.
func (t *thriftWalk) structure(text []byte, depth int) []byte {
	if t.left--; t.left < 0 {
		panic(errPage)
	}
	for {
		head := text[0]
		if text = text[1:]; head == 0 {
			return text
		}
		if head>>4 == 0 { // the field's number follows
			_, text = uvarint(text)
		}
		if kind := head & 15; kind > 2 { // true and false have no bytes here
			text = t.value(text, kind, depth)
		}
	}
}

// value passes over a value of this kind.
func (t *thriftWalk) value(text []byte, kind byte, depth int) []byte {
	if depth > maxNested {
		panic(errPage)
	}
	switch kind {
	case 1, 2, 3: // truth values in a list, bytes
		return text[1:]
	case 4, 5, 6:
		_, text = uvarint(text)
		return text
	case 7:
		return text[8:]
	case 8:
		n, text := uvarint(text)
		return text[n:]
	case 9, 10:
		n := uint64(text[0] >> 4)
		kind = text[0] & 15
		if text = text[1:]; n == 15 {
			n, text = uvarint(text)
		}
		for ; n > 0; n-- {
			text = t.value(text, kind, depth+1)
		}
		return text
	case 12:
		return t.structure(text, depth+1)
	}
	panic(errPage) // Parquet has no maps
}

// uvarint reads a number of variable length.
func uvarint(text []byte) (uint64, []byte) {
	v, n := binary.Uvarint(text)
	if n <= 0 {
		panic(errPage) // it is cut off, or too long
	}
	return v, text[n:]
}

// checkRuns looks over runs of up to n values, of so many bits
// (https://parquet.apache.org/docs/file-format/data-pages/encodings, RLE).
func checkRuns(text []byte, bits, n int) error {
	n += 1 << 10 // the last run may be filled up
	for len(text) > 0 {
		head, rest := uvarint(text)
		count, size := min(head>>1, maxPage), (bits+7)/8
		if head&1 == 1 {
			count, size = 8*count, int(count)*bits
		}
		if bits > 32 || count > uint64(n) || size > len(rest) {
			return errPage
		}
		n -= int(count)
		text = rest[size:]
	}
	return nil
}

// passDelta passes over n numbers in DELTA_BINARY_PACKED.
func passDelta(text []byte, n int) []byte {
	block, text := uvarint(text)
	parts, text := uvarint(text)
	total, text := uvarint(text)
	_, text = uvarint(text) // the first value
	if total != uint64(n) || block > 1<<16 || parts == 0 || block < parts {
		panic(errPage)
	}
	for left := n - 1; left > 0; {
		_, text = uvarint(text) // the smallest difference
		widths := text[:parts]
		text = text[parts:]
		for _, width := range widths {
			if left <= 0 {
				break
			}
			text = text[int(block/parts)*int(width)/8:]
			left -= int(block / parts)
		}
	}
	return text
}

func checkValues(text []byte, as format.Encoding, n int) error {
	switch as {
	case format.RLE:
		size := binary.LittleEndian.Uint32(text)
		return checkRuns(text[4:][:size], 1, n)
	case format.RLEDictionary:
		if len(text) > 0 {
			return checkRuns(text[1:], int(text[0]), n)
		}
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		passDelta(text, n)
	case format.DeltaByteArray:
		passDelta(passDelta(text, n), n)
		shared, err := (&delta.BinaryPackedEncoding{}).DecodeInt32(nil, text) // with the text before
		size := len(text)
		for _, length := range shared {
			size += int(length)
		}
		if err != nil || size > maxPage {
			return errLargePage
		}
	}
	return nil
}

// levels decodes the n definition levels of an optional column: 0 of a missing cell.
func levels(text []byte, n int) ([]byte, error) {
	if err := checkRuns(text, 1, n); err != nil {
		return nil, err
	}
	levels, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(nil, text)
	if err != nil || len(levels) < n {
		return nil, errPage
	}
	return levels[:n], nil
}
