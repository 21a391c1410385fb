package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// rows reads the rows, and returns how many there are and what draws the noise; all
// that may be refused for what a cell holds is refused here.
func (o *order) rows(ctx context.Context, stderr io.Writer) (n int64, noised func() (*release.Release, error), err error) {
	if o.bounds == nil {
		s, err := o.sum(ctx, stderr)
		if err != nil {
			return 0, nil, err
		}
		return s.N, func() (*release.Release, error) { return o.noised(ctx, s) }, nil
	}
	var h *ssp.Magnitudes
	noteMissing(stderr, o.cells)
	read, err := scan(stderr, o.source, nil, func() error {
		h, err = o.magnitudes(ctx)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return h.N(), func() (*release.Release, error) { return o.within(ctx, stderr, h, read) }, nil
}

// magnitudes reads all cells that the sums will read, as they will, and counts
// those of the columns without bounds.
func (o *order) magnitudes(ctx context.Context) (*ssp.Magnitudes, error) {
	columns := o.design.Columns()
	at := make([]int, len(o.bounds.Columns))
	for j, name := range o.bounds.Columns {
		at[j] = slices.IndexFunc(columns, func(c schema.Column) bool { return c.Name == name })
		columns[at[j]].Lower, columns[at[j]].Upper = math.NaN(), math.NaN() // a missing cell is in no bin
	}
	values := make([]float64, len(at))
	return dpreg.CountMagnitudes(ctx, func(yield func([]float64, error) bool) {
		for row, err := range o.cells.Values(o.source, columns, o.design.Factors) {
			for j, i := range at {
				if err == nil {
					values[j] = row[i]
				}
			}
			if !yield(values, err) {
				return
			}
		}
	}, len(at))
}

// within finds the bounds and makes the release within them. The rows, which it
// reads again, have been found sound, so that nothing in them can stop it. It shows
// nobody the bounds without the release.
func (o *order) within(ctx context.Context, stderr io.Writer, h *ssp.Magnitudes, read states) (*release.Release, error) {
	found, err := h.Bounds(o.bounds.Columns, o.bounds.Epsilon, o.privacy.Neighbours, mechanisms.OS())
	if err != nil {
		return nil, err
	}
	bounded := *o
	if bounded.design, err = o.design.WithBounds(found); err != nil {
		return nil, err
	}
	var s sums
	_, err = scan(stderr, o.source, read, func() error {
		s, err = bounded.accumulate(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	r, err := bounded.noised(ctx, s)
	if err != nil {
		return nil, err
	}
	return r.WithBounds(o.bounds.Bounds, o.privacy.Epsilon)
}

// tellBounds says what was found, once the release is written.
func tellBounds(stderr io.Writer, r *release.Release) {
	if r.Bounds == nil {
		return
	}
	for _, c := range r.Schema.Columns() {
		switch {
		case !slices.Contains(r.Bounds.Columns, c.Name):
		case c.Upper == ssp.InnermostBound && c.Lower == -ssp.InnermostBound:
			note(stderr, "warning: no magnitude of column %q stood out from the noise: it is as good as 0 throughout, or its values are spread over very many magnitudes; it has the narrowest bounds there are, %v:%v, and its sums may say little",
				c.Name, c.Lower, c.Upper)
		default:
			note(stderr, "bounds found: %s", shellWord(fmt.Sprintf("%s=%v:%v", c.Name, c.Lower, c.Upper)))
		}
	}
}
