package main

import (
	"context"
	csvfile "encoding/csv"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/predict"
	"github.com/dpreg/dpreg/table"
)

// write predicts all rows to the file or to stdout. What goes to stdout waits in a
// temporary file until the last row is done, so that a bad one leaves nothing
// half written.
func (c *predictCommand) write(ctx context.Context, stdout io.Writer, in *newRows, p *predict.Predictor) error {
	if c.output != "" {
		// Predictions say what the release says, but beside new rows, which may be
		// private.
		var bad error
		err := writeFile(c.output, private, func(w io.Writer) error {
			bad = predictRows(ctx, w, in, p)
			return bad
		})
		if bad != nil {
			return bad
		}
		return err
	}
	spool, err := os.CreateTemp("", "dpreg-*.csv")
	if err != nil {
		return err
	}
	os.Remove(spool.Name())       // nothing stays, whatever ends the process
	defer os.Remove(spool.Name()) // where an open file cannot be removed
	defer spool.Close()
	if err := predictRows(ctx, spool, in, p); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(stdout, spool)
	return err
}

// batchRows is the number of rows that are predicted at a time, and so all that are
// in memory.
const batchRows = 1024

// batch are rows on their way from one file to the other.
type batch struct {
	rows []predictedRow
	size int
}

type predictedRow struct {
	line   int
	fields []string
	x      []float64
	law    predict.Prediction
	err    error
}

// predictRows copies rows and adds the predictions.
func predictRows(ctx context.Context, w io.Writer, in *newRows, p *predict.Predictor) error {
	out := csvfile.NewWriter(w)
	if err := out.Write(append(slices.Clone(in.header), predicted...)); err != nil {
		return err
	}
	b, last := batch{rows: make([]predictedRow, batchRows)}, table.Row{}
	for row, err := range in.rows {
		if err != nil {
			return usage(err)
		}
		last = row
		next := &b.rows[b.size]
		next.line, next.fields, next.x = row.Line, append(next.fields[:0], row.Fields...), append(next.x[:0], row.Values...)
		if b.size++; b.size == batchRows {
			if err := b.flush(ctx, out, in.name, p); err != nil {
				return err
			}
		}
	}
	if err := b.flush(ctx, out, in.name, p); err != nil {
		return err
	}
	in.warning = last.Warning()
	out.Flush()
	return out.Error()
}

// flush predicts the rows of the batch, on all processors, and writes them in order.
func (b *batch) flush(ctx context.Context, out *csvfile.Writer, name string, p *predict.Predictor) error {
	rows := b.rows[:b.size]
	b.size = 0
	err := parallel.Each(ctx, 0, len(rows), nil, func(_ context.Context, i int) error {
		rows[i].law, rows[i].err = p.Predict(rows[i].x)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].err != nil {
			return usage(&table.Error{File: name, Line: rows[i].line, Err: rows[i].err})
		}
		if err := out.Write(append(rows[i].fields, cells(rows[i].law)...)); err != nil {
			return err
		}
	}
	return nil
}

// cells are in the order of predicted; R and Excel read TRUE and FALSE.
func cells(law predict.Prediction) []string {
	var text []string
	for _, v := range []float64{law.Fitted, law.SD, law.Lower, law.Upper} {
		text = append(text, strconv.FormatFloat(v, 'g', -1, 64))
	}
	if law.Outside {
		return append(text, "TRUE")
	}
	return append(text, "FALSE")
}
