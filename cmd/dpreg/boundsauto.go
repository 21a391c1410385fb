package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// --bounds auto: bounds that are found in the rows, for a part of ε.

// autoShare is the part of ε that private bounds get where --bounds auto says none.
const autoShare = 0.1

// splitBounds takes auto and auto=SHARE out of what --bounds says. share is 0 where
// neither is there. A column that is called auto has bounds with a colon.
func splitBounds(texts []string) (named []string, share float64, err error) {
	for _, text := range texts {
		var rest []string
		for item := range strings.SplitSeq(text, ",") {
			name, value, given := strings.Cut(strings.TrimSpace(item), "=")
			if name != release.AutoBounds || strings.Contains(value, ":") {
				rest = append(rest, item)
				continue
			}
			if share != 0 {
				return nil, 0, usagef("--bounds %s: it stands twice", item)
			}
			share = autoShare
			if given {
				share, err = schema.ParseNumber(value)
			}
			if err != nil || !(share > 0 && share < 1) {
				return nil, 0, usagef("--bounds %s: the share of ε must lie between 0 and 1, as in --bounds auto=0.1", item)
			}
		}
		if rest != nil {
			named = append(named, strings.Join(rest, ","))
		}
	}
	return named, share, nil
}

// unbounded lists the columns whose bounds are to be found. Without --bounds auto
// there must be none, and a column of which one bound is known is a mistake.
func (f *releaseFlags) unbounded(columns []schema.Column, data string) ([]string, error) {
	_, share, err := splitBounds(f.bounds)
	if err != nil {
		return nil, err
	}
	switch {
	case share == 0 && f.remote != nil:
		return nil, checkBoundedRemote(columns)
	case share == 0:
		return nil, f.checkBounded(columns, data, boundsAuto)
	}
	var names []string
	for _, c := range columns {
		if c.Type != "" || c.Bounded() || slices.Contains(names, c.Name) {
			continue
		}
		if !math.IsNaN(c.Lower) || !math.IsNaN(c.Upper) {
			return nil, usagef("--bounds auto: column %q has one bound only; give both, or none, and both are found", c.Name)
		}
		names = append(names, c.Name)
	}
	return names, nil
}

// standInBounds gives columns whose bounds are to be found some that are not used.
func standInBounds(names []string) schema.Bounds {
	var b schema.Bounds
	for _, name := range names {
		b = append(b, schema.Column{Name: name, Lower: -1, Upper: 1})
	}
	return b
}

// autoBounds is the part of an order that private bounds are.
type autoBounds struct {
	release.Bounds
	rows int64 // as stated, where their number is not public; else 0
}

// auto completes the order where columns are without bounds.
func (o *order) auto(stderr io.Writer, f *releaseFlags, columns []string) error {
	_, share, err := splitBounds(f.bounds)
	switch {
	case err != nil:
		return err
	case columns == nil && share != 0:
		note(stderr, "--bounds auto: every column has public bounds, so that no part of ε is used for any")
		fallthrough
	case columns == nil:
		return f.checkRows(false)
	case o.source.Once():
		return usagef("--bounds auto reads the rows twice, and %s can be read once", o.source.Name)
	}
	epsilon, _ := new(big.Rat).Mul(asStated(o.privacy.Epsilon), asStated(share)).Float64()
	b := &autoBounds{release.Bounds{Method: release.AutoBounds, Epsilon: epsilon, Columns: columns}, f.rows}
	if _, err := ssp.CalibrateBounds(len(columns), epsilon, o.privacy.Neighbours); err != nil {
		return usage(fmt.Errorf("--bounds auto: %w", err))
	}
	o.bounds = b
	if o.left().Epsilon < ssp.MinEpsilon {
		return usagef("--bounds auto=%v: nothing of ε is left for the release", share)
	}
	if err := f.checkRows(o.privacy.Neighbours == release.AddRemove); err != nil {
		return err
	}
	which := fmt.Sprintf("%d columns", len(columns))
	if f.names {
		which = quoted(columns)
	}
	note(stderr, "--bounds auto: ε = %v of %v (%.3g %%) finds bounds of %s; the sums have the other %v",
		epsilon, o.privacy.Epsilon, 100*share, which, o.left().Epsilon)
	return nil
}

// checkRows checks --rows, which is needed where a number of rows is that is not
// public.
func (f *releaseFlags) checkRows(needed bool) error {
	switch {
	case f.rows < 0 || f.rows > ssp.MaxRows:
		return usagef("--rows %d: from 1 to %d", f.rows, int64(ssp.MaxRows))
	case !needed && f.rows != 0:
		return usagef("--rows is for --bounds auto with --neighbours %s: otherwise the rows are counted, or their number does not matter", release.AddRemove)
	case needed && f.rows == 0:
		return usagef("--bounds auto with --neighbours %s: the number of rows is not public, and says whether bounds can be found at all. "+
			"State it about, from public knowledge: --rows NUMBER", release.AddRemove)
	}
	return nil
}

// left is the privacy of the sums: what private bounds leave.
func (o *order) left() release.Privacy {
	if o.bounds == nil {
		return o.privacy
	}
	return ssp.AfterBounds(o.privacy, o.bounds.Epsilon)
}

// sufficient refuses too few rows for private bounds, before anything is spent. n is
// the number of rows where it is public.
func (o *order) sufficient(n int64) error {
	if o.bounds == nil {
		return nil
	}
	if o.privacy.Neighbours == release.AddRemove {
		n = o.bounds.rows
	}
	err := dpreg.CheckRows(n, o.bounds.Bounds, o.privacy.Neighbours)
	var few *dpreg.TooFewRowsError
	if errors.As(err, &few) {
		return refusef("--bounds auto: %w. Nothing was spent.\n%s", err, o.wouldDo(few))
	}
	return usage(err)
}

// wouldDo says with what so many rows would do.
func (o *order) wouldDo(few *dpreg.TooFewRowsError) string {
	enough := func(columns int, epsilon float64) bool {
		c, err := ssp.CalibrateBounds(columns, epsilon, o.privacy.Neighbours)
		return err == nil && c.Rows <= few.Rows
	}
	text := "  What would do:       public bounds (--bounds NAME=LOWER:UPPER, or a schema file), which cost nothing"
	columns := few.Columns
	for columns > 0 && !enough(columns, few.Epsilon) {
		columns--
	}
	if columns > 0 {
		text += fmt.Sprintf(";\n                       of all of these columns but %d they would be enough", columns)
	}
	factor := 1.0
	for factor < 1e6 && !enough(few.Columns, factor*few.Epsilon) {
		factor *= 1.01
	}
	if factor >= 1e6 {
		return text
	}
	if share := factor * few.Epsilon / o.privacy.Epsilon; share < 0.5 {
		text += fmt.Sprintf("\n  Or a larger share:   --bounds auto=%.2g", roundedUp(share))
	}
	return text + fmt.Sprintf("\n  Or a larger ε:       --eps %.4g", roundedUp(factor*o.privacy.Epsilon))
}

// roundedUp rounds x > 0 up to two digits.
func roundedUp(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Ceil(x/unit) * unit
}

// adopt returns the order's design with the bounds that a former release found, if
// it is one that found bounds.
func (o *order) adopt(former *release.Release) *schema.Design {
	if o.bounds == nil || former.Bounds == nil {
		return o.design
	}
	var found schema.Bounds
	for _, c := range former.Schema.Columns() {
		if slices.Contains(o.bounds.Columns, c.Name) {
			found = append(found, c)
		}
	}
	d, err := o.design.WithBounds(found)
	if err != nil {
		return o.design
	}
	return d
}

// boundsDiffer says why the bounds of r did not come about as those ordered would,
// nil if they did.
func (o *order) boundsDiffer(r *release.Release) error {
	switch {
	case o.bounds == nil && r.Bounds == nil:
		return nil
	case o.bounds == nil:
		return fmt.Errorf("its bounds of %s were found in the rows (--bounds auto)", quoted(r.Bounds.Columns))
	case r.Bounds == nil:
		return errors.New("its bounds are public, and were not found in the rows (--bounds auto)")
	case r.Bounds.Epsilon != o.bounds.Epsilon && r.Privacy.Epsilon == o.privacy.Epsilon:
		return fmt.Errorf("its bounds were found with epsilon %v, not %v", r.Bounds.Epsilon, o.bounds.Epsilon)
	}
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	if !slices.Equal(sorted(r.Bounds.Columns), sorted(o.bounds.Columns)) {
		return fmt.Errorf("it found bounds of %s, not of %s", quoted(r.Bounds.Columns), quoted(o.bounds.Columns))
	}
	return nil
}

// quoted names columns.
func quoted(columns []string) string {
	names := make([]string, len(columns))
	for i, name := range columns {
		names[i] = fmt.Sprintf("%q", name)
	}
	if more := len(names) - maxListed; more > 0 {
		names = append(names[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
