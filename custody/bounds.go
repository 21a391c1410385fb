package custody

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// Bounds that are found in the rows, for a part of ε: see docs/bounds-auto.md. The bounds
// that the design has for these columns do not count.
type Bounds struct {
	Columns []string // none: all bounds are public
	Share   float64  // of ε, below 1; default: DefaultShare
}

// DefaultShare is the part of ε that private bounds get where an order says none.
const DefaultShare = 0.1

// settleBounds completes the order where columns are without bounds.
func (s *Settled) settleBounds() error {
	b := &s.Bounds
	if len(b.Columns) == 0 {
		return s.checkRows(false)
	}
	if b.Share == 0 {
		b.Share = DefaultShare
	}
	rows, err := s.files("--bounds auto")
	switch {
	case err != nil:
		return err
	case rows.Once():
		return once("--bounds auto", rows)
	case !(b.Share > 0 && b.Share < 1):
		return Misusef("--bounds auto=%v: the share of ε must lie between 0 and 1, as in --bounds auto=0.1", b.Share)
	case !(math.Abs(s.Privacy.Epsilon) <= ssp.MaxEpsilon):
		return Misusef("epsilon %v: at most %v", s.Privacy.Epsilon, ssp.MaxEpsilon)
	}
	epsilon, _ := new(big.Rat).Mul(number.Decimal(s.Privacy.Epsilon), number.Decimal(b.Share)).Float64()
	if _, err := ssp.CalibrateBounds(len(b.Columns), epsilon, s.Privacy.Neighbours); err != nil {
		return Misuse(fmt.Errorf("--bounds auto: %w", err))
	}
	s.bounds = &release.Bounds{Method: release.AutoBounds, Epsilon: epsilon, Columns: b.Columns}
	if s.left().Epsilon < ssp.MinEpsilon {
		return Misusef("--bounds auto=%v: nothing of ε is left for the release", b.Share)
	}
	for _, source := range s.Design.Sources {
		if slices.Contains(b.Columns, source.Name) {
			return Misusef("--bounds auto finds no bounds of %q, since terms are made of it and their bounds follow from its own: give public ones", source.Name)
		}
	}
	if s.Design, err = s.Design.WithBounds(AnyBounds(b.Columns)); err != nil {
		return Misuse(err)
	}
	if err := s.checkRows(s.Privacy.Neighbours == release.AddRemove); err != nil {
		return err
	}
	s.sayf("--bounds auto: ε = %v of %v (%.3g %%) finds bounds of %d columns; the sums have the other %v",
		epsilon, s.Privacy.Epsilon, 100*b.Share, len(b.Columns), s.left().Epsilon)
	return nil
}

// AnyBounds are those of columns whose bounds are to be found: none that are used.
func AnyBounds(columns []string) (b schema.Bounds) {
	for _, name := range columns {
		b = append(b, schema.Column{Name: name, Lower: -1, Upper: 1})
	}
	return b
}

// checkRows checks StatedRows, which bounds need where the number of rows is not public, and
// which serves steps there.
func (s *Settled) checkRows(needed bool) error {
	serves := needed || s.Steps > 1 && s.Privacy.Neighbours == release.AddRemove
	switch rows := s.StatedRows; {
	case rows < 0 || rows > ssp.MaxRows:
		return Misusef("--rows %d: from 1 to %d", rows, int64(ssp.MaxRows))
	case !serves && rows != 0:
		return Misusef("--rows is for --bounds auto or --steps with --neighbours %s: otherwise the rows are counted, or their number does not matter", release.AddRemove)
	case needed && rows == 0:
		return Misusef("--bounds auto with --neighbours %s: the number of rows is not public, and says whether bounds can be found at all. "+
			"State it about, from public knowledge: --rows NUMBER", release.AddRemove)
	}
	return nil
}

// readMagnitudes reads all cells that the sums will read, as they will, and counts those of
// the columns without bounds. within then reads the rows again.
func (s *Settled) readMagnitudes(ctx context.Context) (n int64, noised func() (*release.Release, error), err error) {
	p := s.Rows.(Files).passesOf(s)
	m, err := s.Design.Maker(s.Design.Columns(), true)
	if err != nil {
		return 0, nil, err
	}
	columns := m.Columns
	at := make([]int, len(s.bounds.Columns))
	for j, name := range s.bounds.Columns {
		at[j] = schema.Index(columns, name)
		columns[at[j]].Lower, columns[at[j]].Upper = math.NaN(), math.NaN() // a missing cell is in no bin
	}
	h, values := ssp.NewMagnitudes(len(at)), make([]float64, len(at))
	err = p.read(func() error {
		for row, err := range s.Cells.Values(p.Source, columns, m.Factors) {
			if err != nil {
				return err
			}
			for j, i := range at {
				values[j] = row[i]
			}
			if err := h.Add(values); err != nil {
				return err
			}
			if h.N()%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return 0, nil, err
	}
	return h.N(), func() (*release.Release, error) { return s.within(ctx, h) }, nil
}

// checkEvery is the number of rows between two looks at the context.
const checkEvery = 1 << 12

// within finds the bounds and makes the release within them, with the privacy that is left. The
// rows, which it reads again, have been found sound, so that nothing in them can stop it. It shows
// nobody the bounds without the release.
func (s *Settled) within(ctx context.Context, h *ssp.Magnitudes) (*release.Release, error) {
	found, err := h.Bounds(s.bounds.Columns, s.bounds.Epsilon, s.Privacy.Neighbours, s.entropy())
	if err != nil {
		return nil, err
	}
	bounded := *s
	bounded.Privacy, bounded.bounds = s.left(), nil
	if bounded.Design, err = s.Design.WithBounds(found); err != nil {
		return nil, err
	}
	_, noised, err := bounded.read(ctx)
	if err != nil {
		return nil, err
	}
	r, err := noised()
	if err != nil {
		return nil, err
	}
	return r.WithBounds(*s.bounds, s.Privacy.Epsilon)
}

// sayBounds says what was found, once the release is written.
func (s *Settled) sayBounds(r *release.Release) {
	if r.Bounds == nil {
		return
	}
	for _, c := range r.Schema.Columns() {
		switch {
		case !slices.Contains(r.Bounds.Columns, c.Name):
		case c.Upper == ssp.InnermostBound && c.Lower == -ssp.InnermostBound:
			s.sayf("warning: no magnitude of column %q stood out from the noise: it is as good as 0 throughout, or its values are spread over very many magnitudes; it has the narrowest bounds there are, %v:%v, and its sums may say little",
				c.Name, c.Lower, c.Upper)
		default:
			s.sayf("bounds found: %s", files.Quoted(fmt.Sprintf("%s=%v:%v", c.Name, c.Lower, c.Upper)))
		}
	}
}

// sufficient refuses too few rows for private bounds, before anything is spent. rows is
// their number where it is public; else the one stated.
func (s *Settled) sufficient(rows int64) error {
	if s.bounds == nil {
		return nil
	}
	needed, err := ssp.CalibrateBounds(len(s.bounds.Columns), s.bounds.Epsilon, s.Privacy.Neighbours)
	switch {
	case err != nil:
		return Misuse(err)
	case needed.Rows <= rows:
		return nil
	}
	// The number that is needed goes as 1/ε, but for logarithms.
	factor := 1.05 * float64(needed.Rows) / float64(max(1, rows))
	text := fmt.Sprintf("  What would do:       public bounds (--bounds NAME=LOWER:UPPER, or a schema file), which cost nothing; or fewer columns\n"+
		"  Or a larger ε:       --eps %.2g", factor*s.Privacy.Epsilon)
	if share := factor * s.bounds.Epsilon / s.Privacy.Epsilon; share < 0.5 {
		text += fmt.Sprintf("\n  Or a larger share:   --bounds auto=%.2g", share)
	}
	return Refusef("--bounds auto: %d rows are too few for private bounds of %d columns with epsilon = %v: %d are needed. Nothing was spent.\n%s",
		rows, len(s.bounds.Columns), s.bounds.Epsilon, needed.Rows, text)
}
