package dpreg

import (
	"context"
	"fmt"
	"iter"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// PublishWithinBounds is Publish for columns whose bounds nobody knows: those that b
// names get bounds found in the rows, with b.Epsilon of p.Epsilon, and the sums have
// what this leaves (docs/bounds-auto.md). p is the promise of the whole release.
// Whatever bounds d has for these columns are replaced.
//
// values yields for each row the values of b.Columns, in the data's units, NaN for a
// missing one; scaled yields the same rows for a design, as Publish takes them. Each
// is read once, values first. rows is how many there are as far as is public: 0 for
// replace-one neighbours, to whom the number that values yields is.
//
// Errors: those of Publish; too few rows for such bounds, a *TooFewRowsError, before
// anything is spent.
func PublishWithinBounds(ctx context.Context, values iter.Seq2[[]float64, error], scaled func(*schema.Design) iter.Seq2[[]float64, error],
	d *schema.Design, p release.Privacy, b release.Bounds, rows int64) (*release.Release, error) {
	rest := ssp.AfterBounds(p, b.Epsilon)
	if err := checkBounds(d, rest, b); err != nil {
		return nil, err
	}
	h, err := CountMagnitudes(ctx, values, len(b.Columns))
	if err != nil {
		return nil, err
	}
	if p.Neighbours == release.ReplaceOne {
		rows = h.N()
	}
	if err := CheckRows(rows, b, p.Neighbours); err != nil {
		return nil, err
	}
	found, err := h.Bounds(b.Columns, b.Epsilon, p.Neighbours, mechanisms.OS())
	if err != nil {
		return nil, err
	}
	if d, err = d.WithBounds(found); err != nil {
		return nil, err
	}
	r, err := Publish(ctx, scaled(d), d, rest)
	if err != nil {
		return nil, err
	}
	return r.WithBounds(b, p.Epsilon)
}

// checkBounds refuses what can be refused before a row is read.
func checkBounds(d *schema.Design, rest release.Privacy, b release.Bounds) error {
	var some schema.Bounds
	for _, name := range b.Columns {
		some = append(some, schema.Column{Name: name, Lower: -1, Upper: 1})
	}
	if _, err := d.WithBounds(some); err != nil {
		return err
	}
	if _, err := ssp.CalibrateBounds(len(b.Columns), b.Epsilon, rest.Neighbours); err != nil {
		return err
	}
	_, _, err := ssp.Choose(len(d.Columns()), rest)
	return err
}

// CountMagnitudes counts the magnitudes of rows of so many columns, in the data's
// units, NaN for a missing value: what private bounds are found from. What it
// returns is as sensitive as the rows. Errors are those of Accumulate.
func CountMagnitudes(ctx context.Context, rows iter.Seq2[[]float64, error], columns int) (*ssp.Magnitudes, error) {
	h := ssp.NewMagnitudes(columns)
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		if len(row) != columns {
			return nil, fmt.Errorf("row %d has %d values, and bounds are wanted of %d columns", h.N()+1, len(row), columns)
		}
		if err := h.Add(row); err != nil {
			return nil, fmt.Errorf("row %d: %w", h.N()+1, err)
		}
		if h.N()%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return h, ctx.Err()
}

// TooFewRowsError says that private bounds cannot be had from so few rows.
type TooFewRowsError struct {
	Rows, Needed int64
	Columns      int
	Epsilon      float64 // of the bounds
}

func (e *TooFewRowsError) Error() string {
	return fmt.Sprintf("%d rows are too few for private bounds of %d columns with epsilon = %v: %d are needed", e.Rows, e.Columns, e.Epsilon, e.Needed)
}

// CheckRows returns a *TooFewRowsError where private bounds b cannot be had from so
// many rows, a number that must be public.
func CheckRows(rows int64, b release.Bounds, nb release.Neighbours) error {
	c, err := ssp.CalibrateBounds(len(b.Columns), b.Epsilon, nb)
	if err == nil && rows < c.Rows {
		err = &TooFewRowsError{rows, c.Rows, len(b.Columns), b.Epsilon}
	}
	return err
}
