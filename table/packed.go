package table

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
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
