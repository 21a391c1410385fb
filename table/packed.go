package table

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// No text begins so that a header could be made of it.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// maxWindow bounds the memory that a file packed by zstd may ask for, in bytes.
const maxWindow = 64 << 20

// unpacked reads what r packs, by gzip or zstd, or r itself where it does neither.
// Memory is bounded, whatever r holds.
func unpacked(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	start, _ := buffered.Peek(len(zstdMagic)) // an error comes again
	switch {
	case len(start) >= 2 && string(start[:2]) == gzipMagic:
		return gzip.NewReader(buffered)
	case string(start) == zstdMagic:
		return zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	}
	return buffered, nil
}

var errPacked = errors.New("more is packed than was said, or in a way that is not known")

// unpacker unpacks pages of Parquet files into memory that is there: the library's own
// doubles it for as long as a page has more, or its LZ4_RAW is damaged. The zero value
// serves.
type unpacker struct {
	gzip gzip.Reader
	zstd *zstd.Decoder
}

// unpack returns how many bytes of text it wrote; that they do not fit is an error.
func (u *unpacker) unpack(codec format.CompressionCodec, text, packed []byte) (n int, err error) {
	switch codec {
	case format.Snappy:
		if n, err = snappy.DecodedLen(packed); err == nil && n <= len(text) {
			_, err = snappy.Decode(text, packed)
			return n, err
		}
	case format.Lz4Raw:
		return lz4.UncompressBlock(packed, text)
	case format.Zstd:
		if u.zstd == nil {
			u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return 0, err
			}
		}
		out, err := u.zstd.DecodeAll(packed, text[:0:len(text)])
		return len(out), err
	case format.Gzip:
		if err := u.gzip.Reset(bytes.NewReader(packed)); err != nil {
			return 0, err
		}
		return fill(text, &u.gzip)
	case format.Brotli:
		return fill(text, brotli.NewReader(bytes.NewReader(packed)))
	}
	return 0, errPacked
}

// fill reads all of r into text.
func fill(text []byte, r io.Reader) (n int, err error) {
	n, err = io.ReadFull(r, text)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, nil
	}
	if err == nil {
		if more, _ := r.Read(make([]byte, 1)); more > 0 {
			err = errPacked
		}
	}
	return n, err
}
