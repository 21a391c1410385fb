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
// Its errors last, so that none is lost where a buffer looks ahead.
type limitReader struct {
	r    io.Reader
	left int
	err  error
}

func (l *limitReader) Read(p []byte) (n int, err error) {
	if l.left <= 0 {
		l.err = errRecord
	}
	if l.err == nil {
		n, l.err = l.r.Read(p)
		l.left -= n
	}
	return n, l.err
}

const byteOrderMark = "\ufeff"

func newRecordReader(r io.Reader, name string) *recordReader {
	limit := &limitReader{r: r, left: maxRecord}
	buffered := bufio.NewReaderSize(limit, bufferSize)
	// An error here comes again with the first record.
	if start, _ := buffered.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = buffered.Discard(len(byteOrderMark))
	}
	records := csv.NewReader(buffered)
	records.ReuseRecord = true
	return &recordReader{name: name, csv: records, limit: limit}
}
