package table

import (
	"cmp"
	"context"
	"io"
)

// worker turns parts of files into rows and hands these on, some at a time. Its memory
// is used again for the next part.
type worker struct {
	ctx   context.Context
	sink  func(rows []float64) error
	block block
	rows  []float64 // complete, and not handed on yet; a batch at most
	some  bool      // there was a row, be it one that was left out
}

// batch is the number of rows that are handed on at a time.
const batch = 256

func newWorker(ctx context.Context, width int, sink func(rows []float64) error) *worker {
	return &worker{ctx: ctx, sink: sink, rows: make([]float64, 0, batch*width)}
}

// row is the place of the next row.
func (w *worker) row(width int) []float64 {
	n := len(w.rows)
	return w.rows[n : n+width]
}

// take takes the row that was written to its place; keep tells whether it stays.
func (w *worker) take(width int, keep bool) error {
	w.some = true
	if !keep {
		return nil
	}
	w.rows = w.rows[:len(w.rows)+width]
	if len(w.rows) < cap(w.rows) {
		return nil
	}
	return w.flush()
}

// flush hands on what is complete.
func (w *worker) flush() error {
	rows := w.rows
	if w.rows = rows[:0]; len(rows) == 0 || w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	return w.sink(rows)
}

// lines parses a block: line by line where there are no quotation marks, and by
// encoding/csv where there are, and from the first line on with which anything is wrong.
func (w *worker) lines(l *layout) error {
	b := &w.block
	at, text, width := 0, b.text, len(l.columns)
	for !b.quoted && at < len(text) {
		if text[at] == '\n' {
			at++
			continue
		}
		if text[at] == '\r' && text[at+1] == '\n' {
			at += 2
			continue
		}
		row := w.row(width)
		length, missing := l.line(row, text[at:])
		if length == 0 {
			break
		}
		at += length
		if err := w.take(width, l.complete(row, missing)); err != nil {
			return err
		}
	}
	if at < len(text) {
		b.skip(at)
		if err := w.records(l, b.records(l.name, len(l.inline))); err != nil {
			return err
		}
	}
	return w.flush()
}

// records parses what encoding/csv reads. Rows before an error are handed on.
func (w *worker) records(l *layout, records *recordReader) error {
	width := len(l.columns)
	for {
		record, err := records.next()
		if err == io.EOF {
			return nil
		}
		row, missing := w.row(width), false
		if err == nil {
			missing, err = l.record(row, record, records)
		}
		if err != nil {
			return cmp.Or(w.flush(), err)
		}
		if err := w.take(width, l.complete(row, missing)); err != nil {
			return err
		}
	}
}
