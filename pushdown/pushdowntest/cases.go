// Package pushdowntest has tables, each as a file and as a database has it, of which
// the sums must be the same, and a PostgreSQL server for tests.
package pushdowntest

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Case is a table and a regression on it.
type Case struct {
	Name    string
	Columns []string   // names
	Types   []string   // SQL, of each column
	Cells   [][]string // as a file has them; an empty one is NULL
	Design  *schema.Design
	Options table.Options
}

// Create are statements that make the table.
func (c Case) Create(name string) []string {
	columns := make([]string, len(c.Columns))
	for j, label := range c.Columns {
		columns[j] = quoted(label, `"`) + " " + c.Types[j]
	}
	rows := make([]string, len(c.Cells))
	for i, cells := range c.Cells {
		values := make([]string, len(cells))
		for j, cell := range cells {
			values[j] = "NULL"
			if cell != "" {
				values[j] = fmt.Sprintf("CAST(%s AS %s)", quoted(cell, "'"), c.Types[j])
			}
		}
		rows[i] = "(" + strings.Join(values, ", ") + ")"
	}
	return []string{
		fmt.Sprintf("CREATE TABLE %s (%s)", quoted(name, `"`), strings.Join(columns, ", ")),
		fmt.Sprintf("INSERT INTO %s VALUES %s", quoted(name, `"`), strings.Join(rows, ", ")),
	}
}

func quoted(text, mark string) string {
	return mark + strings.ReplaceAll(text, mark, mark+mark) + mark
}

// Want are the sums of the table as a file.
func (c Case) Want(t *testing.T) *ssp.Statistics {
	t.Helper()
	var file strings.Builder
	w := csv.NewWriter(&file)
	must.Do(t, w.WriteAll(append([][]string{c.Columns}, c.Cells...)))
	a := ssp.NewAccumulator(len(c.Design.Columns()))
	for row, err := range c.Options.CSV(strings.NewReader(file.String()), c.Name, c.Design) {
		if err == nil {
			err = a.AddRows(row)
		}
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
	}
	return a.Statistics()
}

// Cases are tables of numbers of every type, of values where engines could differ, of
// categories, truth values and missing cells. pums is the file testdata/pums.csv, beside
// which its schema stands.
func Cases(t *testing.T, pums string) []Case {
	t.Helper()
	all := append(people(t, pums), numbers(t)...)
	return append(all, categories(t)...)
}

// people has columns of whole numbers, which every type holds exactly.
func people(t *testing.T, pums string) (cases []Case) {
	text := must.Get(os.ReadFile(pums))(t)
	records := must.Get(csv.NewReader(bytes.NewReader(text)).ReadAll())(t)
	described := must.Get(os.ReadFile(strings.TrimSuffix(pums, ".csv") + ".schema.json"))(t)
	s := must.Get(schema.ReadSchema(bytes.NewReader(described), "schema"))(t)
	for _, cells := range records[1:] {
		for j, cell := range cells {
			v := must.Get(schema.ParseNumber(cell))(t)
			cells[j] = strconv.FormatFloat(v, 'f', -1, 64) // 1e+05 is no integer to a database
		}
	}
	for _, kind := range []string{"integer", "bigint", "numeric(12, 2)", "real", "double precision"} {
		types := make([]string, len(records[0]))
		for j := range types {
			types[j] = kind
		}
		cases = append(cases, Case{"pums as " + kind, records[0], types, records[1:], must.Get(s.Design("income ~ ."))(t), table.Options{}})
	}
	return cases
}

// numbers are boxes, each with the values where a bit could go another way: ties of
// rounding and their neighbours, bounds and theirs, zeros of both signs, the smallest and
// the largest numbers, and random ones.
func numbers(t *testing.T) (cases []Case) {
	boxes := [][2]float64{{-1, 1}, {0, 1}, {-40, 40}, {0.1, 0.7}, {-1e-50, 1e-50}, {-1e50, 1e50}, {1e16, 1e16 + 2}, {-3, -0.3}, {-0.1, 1e9}}
	for _, box := range boxes {
		s := &schema.Schema{Columns: []schema.Column{{Name: "x", Lower: box[0], Upper: box[1]}, {Name: "y", Lower: -box[1], Upper: -box[0]}}}
		for _, formula := range []string{"y ~ x", "y ~ x - 1"} {
			d, c := must.Get(s.Design(formula))(t), Case{}
			values := nasty(box[0], box[1], d.Frame())
			for i, v := range values {
				c.Cells = append(c.Cells, []string{number(v), number(-values[(7*i+3)%len(values)])})
			}
			c.Name = fmt.Sprintf("%s on %v", formula, box)
			c.Columns, c.Types, c.Design = []string{"x", "y"}, []string{"double precision", "double precision"}, d
			cases = append(cases, c)
		}
	}
	return cases
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func nasty(lower, upper float64, f schema.Frame) []float64 {
	centre, half := f.Centre[0], f.Half[0]
	rng := rand.New(rand.NewPCG(7, math.Float64bits(upper)))
	special := []float64{lower, upper, centre, half, 0, math.Copysign(0, -1), 5e-324, -5e-324, 0x1p-1022, 1e-300, 1e308, math.MaxFloat64, -math.MaxFloat64}
	for range 30 {
		k := math.Floor(rng.Float64()*(1<<21)) - 1<<20
		special = append(special, centre+half*math.Ldexp(k+0.5, -20), math.Ldexp(k+0.5, -20), centre+half*(2*rng.Float64()-1))
	}
	for _, v := range special[:len(special):len(special)] {
		if math.Abs(v) < math.MaxFloat64 {
			special = append(special, math.Nextafter(v, math.Inf(1)), math.Nextafter(v, math.Inf(-1)))
		}
	}
	return special
}

// categories has odd names and levels, truth values and missing cells.
func categories(t *testing.T) (cases []Case) {
	const colour, owner, size, y = `col'our"`, "owner \\", "size", "y;--"
	levels := []string{"red", `it's "a"`, `back\slash`, "größe ✓", "'); DROP TABLE t; --", "`tick`"}
	s := &schema.Schema{Columns: []schema.Column{
		{Name: size, Lower: 0, Upper: 10},
		{Name: colour, Type: "string", Levels: levels},
		{Name: owner, Type: "boolean", Upper: 1},
		{Name: y, Lower: -5, Upper: 20},
	}}
	rng := rand.New(rand.NewPCG(1, 2))
	truth := []string{"true", "false"}
	rows := func(missing float64) (cells [][]string) {
		for range 60 {
			row := []string{
				number(math.Round(12e3*rng.Float64()) / 1000), []string{"", " ", "\t", "\t "}[rng.IntN(4)] + levels[rng.IntN(len(levels))] + []string{"", " ", "\t", " \t"}[rng.IntN(4)],
				truth[rng.IntN(2)], number(30*rng.Float64() - 10),
			}
			for j := range row {
				if rng.Float64() < missing {
					row[j] = [][]string{{"", "-99"}, {"", "NA\t", " "}, {""}, {"", "-99"}}[j][rng.IntN([]int{2, 3, 1, 2}[j])]
				}
			}
			cells = append(cells, row)
		}
		return cells
	}
	quote := func(name string) string { return "`" + strings.ReplaceAll(name, `\`, `\\`) + "`" }
	for _, formula := range []string{quote(y) + " ~ .", quote(y) + " ~ . - 1"} {
		d := must.Get(s.Design(formula))(t)
		add := func(o table.Options, share float64) {
			cases = append(cases, Case{fmt.Sprintf("%s, missing %s", formula, o.Missing), []string{size, colour, owner, y},
				[]string{"numeric", "text", "boolean", "double precision"}, rows(share), d, o})
		}
		add(table.Options{}, 0)
		add(table.Options{Missing: table.Midpoint, NA: []string{"NA", "-99"}}, 0.2)
		add(table.Options{Missing: table.Drop, NA: []string{"NA", "-99"}}, 0.2)
		few := &schema.Schema{Columns: slices.Clone(s.Columns)}
		few.Columns[1].Levels = []string{levels[2], levels[0], levels[5]}
		d = must.Get(few.Design(formula))(t)
		add(table.Options{Missing: table.Midpoint, NA: []string{"NA", "-99"}, Other: levels[5]}, 0.2)
	}
	return cases
}

// Text writes sums exactly, to be compared.
func Text(s *ssp.Statistics) string { return fmt.Sprint(s.N, s.BigInts()) }
