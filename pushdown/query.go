// Package pushdown lets a database sum its own rows: it writes the one aggregation
// query whose result is what ssp.Accumulator makes of the same rows, to the bit, and
// reads that result. Only the sums leave the database.
//
// A number x of a column with bounds [l, u], centre c and half-width h
// (schema.Frame) becomes, in 64-bit floating point and with the operations of
// schema.Frame.Scale and ssp.Accumulator in their order,
//
//	k = ⌊max(-1, min(1, (max(l, min(u, x)) - c) / h)) · 2²⁰ + ½⌋ ,
//
// and Σ k_i k_j are sums of integers. There is a difference, a quotient and a product
// by a power of two: nothing that could be fused and then be rounded otherwise. floor
// is the same everywhere, where round is not: engines break ties differently.
//
// Engines differ in what they make of NULL and of NaN (least(greatest(x, -1), 1) is -1
// of NULL and 1 of NaN in DuckDB), so that neither reaches that formula: a cell that is
// no finite number has no k, and the number of cells that have one is in the result.
package pushdown

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// unit is 1 on the lattice of scaled values.
const unit = 1 << ssp.LatticeBits

// Query is what is to be summed: of which columns, with which bounds and levels, and
// what becomes of missing cells.
type Query struct {
	design  *schema.Design
	frame   schema.Frame
	columns []schema.Column
	options table.Options
	fields  []field
}

// New returns the query for a design. o says what becomes of missing cells, as it says
// it of files: NULL is missing, and so is a text of o.NA, or an empty one, in a column
// of categories or truth values, and a number of o.NA in a column of numbers.
//
// Errors: a design that is not valid, options that do not exist, a level that means
// missing too.
func New(d *schema.Design, o table.Options) (*Query, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	o, err := o.Settle()
	if err != nil {
		return nil, err
	}
	q := &Query{design: d, frame: d.Frame(), columns: d.Columns(), options: o}
	for j, c := range q.columns {
		q.add(j, c)
	}
	for _, f := range q.fields {
		if i := slices.IndexFunc(f.levels, func(level string) bool { return slices.Contains(o.NA, level) }); i >= 0 {
			return nil, fmt.Errorf("column %q: %q is a level, and means that a cell is missing, too: say which texts mean so (--na TEXT), or rename the level",
				f.name, f.levels[i])
		}
	}
	return q, nil
}

// CheckNumbers refuses a column of numbers that is of another type in the table of this name.
func (q *Query) CheckNumbers(table string, isNumber func(column string) bool) error {
	for _, f := range q.fields {
		if f.numeric && !isNumber(f.name) {
			return fmt.Errorf("%s: column %q is of no type of numbers: describe it in the schema as what it is, or cast it to a number, as in a view", table, f.name)
		}
	}
	return nil
}

// ID names the format and, by a hash, all that the sums depend on besides the rows.
func (q *Query) ID() string {
	what, err := json.Marshal(struct {
		Design  *schema.Design
		Options table.Options
	}{q.design, q.options})
	if err != nil {
		panic(err) // a valid design has finite numbers
	}
	return fmt.Sprintf("%s %x", Format, sha256.Sum256(what))
}

// SQL writes the query, of a table with columns of the design's names. It ends without
// a semicolon, so that it can stand within another one. Its result is one row of four
// texts, Aggregates.
func (q *Query) SQL(d Dialect, t Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s. The one row of the result is exact sums, as sensitive as the rows.\n", Format)
	fmt.Fprintf(&b, "SELECT\n  %s AS %s,\n", d.literal(q.ID()), d.name("design"))
	fmt.Fprintf(&b, "  %s AS %s,\n", d.asText("count(*)"), d.name("rows"))
	fmt.Fprintf(&b, "  %s AS %s,\n", d.list(q.counts()), d.name("counts"))
	b.WriteString("  ")
	for j, row := range q.products() {
		if j > 0 {
			b.WriteString("\n  || ',' || ")
		}
		for i, product := range row {
			row[i] = "coalesce(" + fmt.Sprintf(d.sum, product) + ", 0)"
		}
		b.WriteString(d.list(row))
	}
	fmt.Fprintf(&b, " AS %s\nFROM (\n  SELECT\n    ", d.name("sums"))
	q.write(&b, d, t)
	b.WriteString(") AS dpreg_lattice\n")
	return b.String()
}

// counts count the cells of each column that have a number.
func (q *Query) counts() []string {
	var counts []string
	for j := range q.columns {
		counts = append(counts, fmt.Sprintf("count(k%d)", j+1))
	}
	return counts
}

// products are the terms of the sums in canonical order: the linear ones, and then a
// row of the upper triangle after the other.
func (q *Query) products() [][]string {
	m := len(q.columns)
	rows := make([][]string, m+1)
	for j := range m {
		rows[0] = append(rows[0], fmt.Sprintf("k%d", j+1))
		for i := j; i < m; i++ {
			rows[j+1] = append(rows[j+1], fmt.Sprintf("k%d * k%d", j+1, i+1))
		}
	}
	return rows
}

func (d Dialect) asText(expression string) string {
	return fmt.Sprintf("CAST(%s AS %s)", expression, d.text)
}

// list joins integers by commas. Parentheses keep an engine's parser from nesting as
// deep as the list of all sums is long.
func (d Dialect) list(expressions []string) string {
	texts := make([]string, len(expressions))
	for i, e := range expressions {
		texts[i] = d.asText(e)
	}
	return "(" + strings.Join(texts, " || ',' || ") + ")"
}

// write writes the three steps from cells to the lattice, the last one first.
func (q *Query) write(b *strings.Builder, d Dialect, t Table) {
	steps := make([][]string, 3)
	for i, f := range q.fields {
		x := fmt.Sprintf("x%d", i+1)
		steps[2] = append(steps[2], q.cell(d, f)+" AS "+x)
		for _, j := range f.columns {
			// No step has names of the one before it, which some engines would mistake.
			before := fmt.Sprintf("d%d", j+1)
			clamped, lattice := q.category(d, f, j, x), before
			if f.numeric {
				clamped, lattice = q.clamped(d, j, x), q.rounded(d, j, before)
			}
			steps[1] = append(steps[1], clamped+" AS "+before)
			steps[0] = append(steps[0], fmt.Sprintf("%s AS k%d", lattice, j+1))
		}
	}
	const comma = ",\n    "
	b.WriteString(strings.Join(steps[0], comma))
	b.WriteString("\n  FROM (\n  SELECT\n    " + strings.Join(steps[1], comma))
	b.WriteString("\n  FROM (\n  SELECT\n    " + strings.Join(steps[2], comma))
	fmt.Fprintf(b, "\n  FROM %s AS dpreg_table%s) AS dpreg_cells", t.In(d), d.fence)
	if q.options.Missing == table.Drop {
		var present []string
		for i := range q.fields {
			present = append(present, fmt.Sprintf("x%d IS NOT NULL", i+1))
		}
		b.WriteString("\n  WHERE " + strings.Join(present, " AND "))
	}
	fmt.Fprintf(b, "%s) AS dpreg_clamped%s", d.fence, d.fence)
}

// lattice is the integer that a value in the data's units becomes in column j.
func (q *Query) lattice(j int, v float64) int {
	row := make([]float64, len(q.columns))
	row[j] = v
	q.frame.Scale(row, row)
	return int(math.Floor(float64(row[j]*unit) + 0.5))
}
