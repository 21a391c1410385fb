package pushdown

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// field is a column of the table, and the columns of the design that it gives.
type field struct {
	name    string
	columns []int // places in the design
	numeric bool
	levels  []string // of a factor
	wrong   error    // what a cell is that has no number
}

var (
	errBoolean = errors.New("a cell is neither true nor false")
	errLevel   = errors.New("a cell is none of the levels that the schema lists")
	errNumber  = errors.New("a cell is no finite number")
)

// add adds column j of the design; all dummies of a factor are of one field.
func (q *Query) add(j int, c schema.Column) {
	switch {
	case c.Factor != "":
		if i := slices.IndexFunc(q.fields, func(f field) bool { return f.levels != nil && f.name == c.Factor }); i >= 0 {
			q.fields[i].columns = append(q.fields[i].columns, j)
			return
		}
		i := slices.IndexFunc(q.design.Factors, func(f schema.Factor) bool { return f.Name == c.Factor })
		q.fields = append(q.fields, field{name: c.Factor, columns: []int{j}, levels: q.design.Factors[i].Levels, wrong: errLevel})
	case c.Boolean():
		q.fields = append(q.fields, field{name: c.Name, columns: []int{j}, wrong: errBoolean})
	default:
		q.fields = append(q.fields, field{name: c.Name, columns: []int{j}, numeric: true, wrong: errNumber})
	}
}

// cell reads a cell: a number, or the text without schema.Space around it; NULL where it is
// missing, or the middle of the bounds of a number where that stands for it.
func (q *Query) cell(d Dialect, f field) string {
	cast, missing := fmt.Sprintf(d.trim, "CAST(dpreg_table.%s AS "+d.text+")"+d.collate, d.literal(schema.Space)), q.options.NA
	literal := d.literal
	if f.numeric {
		cast = "CAST(dpreg_table.%s AS " + d.float + ")"
		missing = nil
		for _, text := range q.options.NA {
			if _, err := schema.ParseNumber(text); err == nil {
				missing = append(missing, text)
			}
		}
		literal = func(text string) string {
			v, _ := schema.ParseNumber(text)
			return d.number(v)
		}
	}
	// The table's name keeps a column from being taken for an alias of this query.
	x := fmt.Sprintf(cast, d.name(f.name))
	for _, text := range missing {
		x = fmt.Sprintf("nullif(%s, %s)", x, literal(text))
	}
	if f.numeric && q.options.Missing == table.Midpoint {
		c := q.columns[f.columns[0]]
		// Halves first, as for a file.
		x = fmt.Sprintf("coalesce(%s, %s)", x, d.number(c.Lower/2+c.Upper/2))
	}
	return x
}

// clamped is max(l, min(u, x)) - c of column j, NULL of no finite number.
func (q *Query) clamped(d Dialect, j int, x string) string {
	c := q.columns[j]
	return fmt.Sprintf("CASE WHEN %s BETWEEN %s AND %s THEN greatest(%s, least(%s, %s)) - %s END",
		x, d.number(-math.MaxFloat64), d.number(math.MaxFloat64), d.number(c.Lower), d.number(c.Upper), x, d.number(q.frame.Centre[j]))
}

// rounded takes what clamped gives to the lattice. A quotient that underflows is an error in
// PostgreSQL, which tells of the row, so a difference below h·2⁻⁴⁰ is not divided: its
// product by 2²⁰ lies within ½ of 0, and k is 0. NULL must stay NULL, of which
// PostgreSQL's least makes 1.
func (q *Query) rounded(d Dialect, j int, difference string) string {
	h := q.frame.Half[j]
	tiny := math.Ldexp(h, -40)
	return fmt.Sprintf("CASE WHEN %[1]s BETWEEN %[2]s AND %[3]s THEN 0 WHEN %[1]s IS NOT NULL THEN CAST(floor(greatest(%[4]s, least(%[5]s, %[1]s / %[6]s)) * %[7]s + %[8]s) AS %[9]s) END",
		difference, d.number(-tiny), d.number(tiny), d.number(-1), d.number(1), d.number(h), d.number(unit), d.number(0.5), d.integer)
}

// category is k of column j, which has one of a few values: 1 of a level or of truth, 0 of the
// others, ½ of a missing cell where the middle of the bounds stands for it.
func (q *Query) category(d Dialect, f field, j int, x string) string {
	ones, zeros := table.TrueTexts, table.FalseTexts
	if f.levels != nil {
		level := q.columns[j].Level
		ones = []string{level}
		zeros = slices.DeleteFunc(slices.Clone(f.levels), func(other string) bool { return other == level })
	}
	var b strings.Builder
	b.WriteString("CASE")
	for value, texts := range [][]string{zeros, ones} {
		var list []string
		for _, text := range texts {
			list = append(list, d.literal(text))
		}
		fmt.Fprintf(&b, " WHEN %s IN (%s) THEN %s", x, strings.Join(list, ", "), q.constant(d, j, float64(value)))
	}
	if q.options.Missing == table.Midpoint {
		fmt.Fprintf(&b, " WHEN %s IS NULL THEN %s", x, q.constant(d, j, 0.5))
	}
	return b.String() + " END"
}

func (q *Query) constant(d Dialect, j int, v float64) string {
	return fmt.Sprintf("CAST(%d AS %s)", q.lattice(j, v), d.integer)
}
