package table

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
)

// maxRecord bounds a record, in bytes, give or take the buffer. Without it a quote
// that is never closed would pull the rest of the file into memory.
const (
	maxRecord  = 1 << 20
	bufferSize = 1 << 16
)

var errRecord = fmt.Errorf("a record is longer than %d bytes; is a quotation mark never closed, "+
	"or do lines end with a carriage return alone?", maxRecord)

// limitReader fails once more than left bytes were read since left was last set.
type limitReader struct {
	r    io.Reader
	left int
}

func (l *limitReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errRecord
	}
	n, err := l.r.Read(p)
	l.left -= n
	return n, err
}

const byteOrderMark = "\ufeff"

func newRecordReader(r io.Reader, name string) *recordReader {
	limit := &limitReader{r: r, left: maxRecord}
	buffered := bufio.NewReaderSize(limit, bufferSize)
	// An error of Peek comes again with the first Read.
	if start, _ := buffered.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = buffered.Discard(len(byteOrderMark))
	}
	records := csv.NewReader(buffered)
	records.ReuseRecord = true
	return &recordReader{name: name, csv: records, limit: limit}
}
