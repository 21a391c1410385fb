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
	"errors"
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
	person  *table.PersonHash // nil: each row is one of its own
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
	if d.Made() {
		return nil, fmt.Errorf("%s has terms, which a database does not make: let a view of the table have the columns, with bounds of their own", d.Formula())
	}
	if o.BadCell == table.BadMissing {
		return nil, errors.New("a database does not take bad cells for missing ones: make them NULL in a view, as by nullif or try_cast")
	}
	q := &Query{design: d, frame: d.Frame(), columns: d.Columns(), options: o}
	for j, c := range q.columns {
		q.add(j, c)
	}
	if o.Person != "" {
		q.person = table.NewPersonHash(o.PersonKey)
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
	products := q.products()
	var counts []string // of the cells of each column that have a number
	for _, k := range products[0] {
		counts = append(counts, "count("+k+")")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s. The one row of the result is exact sums, as sensitive as the rows.\n", Format)
	fmt.Fprintf(&b, "SELECT\n  %s AS %s,\n", d.literal(q.ID()), d.name("design"))
	fmt.Fprintf(&b, "  %s AS %s,\n", d.asText("count(*)"), d.name("rows"))
	fmt.Fprintf(&b, "  %s AS %s,\n", d.list(counts), d.name("counts"))
	b.WriteString("  ")
	for j, row := range products {
		if j > 0 {
			b.WriteString("\n  || ',' || ")
		}
		for i, product := range row {
			row[i] = "coalesce(" + fmt.Sprintf(d.sum, product) + ", 0)"
		}
		b.WriteString(d.list(row))
	}
	q.write(&b, "sums", d, t)
	return b.String()
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

// write gives the last column its name, and writes the three steps from cells to the lattice,
// the last one first.
func (q *Query) write(b *strings.Builder, name string, d Dialect, t Table) {
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
	if q.person != nil {
		for i, expression := range []string{"p2", "p1", q.cell(d, field{name: q.options.Person})} {
			steps[i] = append(steps[i], fmt.Sprintf("%s AS p%d", expression, 3-i))
		}
	}
	const comma = ",\n    "
	fmt.Fprintf(b, " AS %s\nFROM (\n  SELECT\n    %s", d.name(name), strings.Join(steps[0], comma))
	for _, step := range steps[1:] {
		fmt.Fprintf(b, "\n  FROM (\n  SELECT\n    %s", strings.Join(step, comma))
	}
	fmt.Fprintf(b, "\n  FROM %s AS dpreg_table%s) AS dpreg_cells", t.In(d), d.fence)
	if q.options.Missing == table.Drop {
		var present []string
		for i := range q.fields {
			present = append(present, fmt.Sprintf("x%d IS NOT NULL", i+1))
		}
		if q.person != nil {
			present = append(present, "p1 IS NOT NULL")
		}
		b.WriteString("\n  WHERE " + strings.Join(present, " AND "))
	}
	fmt.Fprintf(b, "%s) AS dpreg_clamped%s) AS dpreg_lattice\n", d.fence, d.fence)
}

// lattice is the integer that a value in the data's units becomes in column j.
func (q *Query) lattice(j int, v float64) int {
	row := make([]float64, len(q.columns))
	row[j] = v
	q.frame.Scale(row, row)
	return int(math.Floor(float64(row[j]*unit) + 0.5))
}

// field is a column of the table, and the columns of the design that it gives.
type field struct {
	name    string
	columns []int // places in the design
	numeric bool
	levels  []string // of a factor
	wrong   error    // what a cell is that has no number
}

var (
	errBoolean = errors.New("a cell is neither true nor false, 1 nor 0")
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
		levels := schema.FactorNamed(q.design.Factors, c.Factor).Levels
		q.fields = append(q.fields, field{name: c.Factor, columns: []int{j}, levels: levels, wrong: errLevel})
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
	which, rest := [][]string{zeros, ones}, -1 // what all other texts are, where they count as a level
	if slices.Contains(f.levels, q.options.Other) {
		if rest = 0; q.columns[j].Level == q.options.Other {
			rest = 1
		}
	}
	var b strings.Builder
	b.WriteString("CASE")
	for value, texts := range which {
		if value == rest {
			continue
		}
		var list []string
		for _, text := range texts {
			list = append(list, d.literal(text))
		}
		decimal := ""
		if f.levels == nil { // 1.00, as a number may be written
			without := strings.TrimPrefix(fmt.Sprint(value, "."), "0")
			decimal = fmt.Sprintf(" OR %s LIKE %s AND %s = %s", x, d.literal(fmt.Sprint(value, ".0%")),
				fmt.Sprintf(d.trim, x, d.literal("0")), d.literal(without))
		}
		fmt.Fprintf(&b, " WHEN %s IN (%s)%s THEN %s", x, strings.Join(list, ", "), decimal, q.constant(d, j, float64(value)))
	}
	if rest >= 0 {
		fmt.Fprintf(&b, " WHEN %s IS NOT NULL THEN %s", x, q.constant(d, j, float64(rest)))
	}
	if q.options.Missing == table.Midpoint {
		fmt.Fprintf(&b, " WHEN %s IS NULL THEN %s", x, q.constant(d, j, 0.5))
	}
	return b.String() + " END"
}

func (q *Query) constant(d Dialect, j int, v float64) string {
	return fmt.Sprintf("CAST(%d AS %s)", q.lattice(j, v), d.integer)
}
