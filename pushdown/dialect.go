package pushdown

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

// Dialect is the SQL of an engine, as far as engines differ in what a query needs.
type Dialect struct {
	Name string

	float, integer, text string // types: of 64 bits, of 64 bits, of any length

	// sum is the sum of a 64-bit integer expression in at least 81 bits: that of
	// ssp.MaxRows products, of up to 25 digits.
	sum string

	// fence ends a subquery that must not be merged into the one around it, which would
	// compute its expressions again wherever they are used.
	fence string

	trim    string // a text without characters, as two verbs: trim of SQL-92, or of two arguments
	collate string // compares texts byte by byte, whatever the column's collation
	quote   string // around names
	names   escape // within names
	strings escape // within texts
}

// escape is how a quoted word holds its own quotation mark and backslashes.
type escape int

const (
	doubled     escape = iota // '' for ', and a backslash is a character
	backslashed               // \' for ' and \\ for \
	prefixed                  // as doubled; E'' with \\ for \ where there is a backslash
)

const (
	trimFrom = "trim(BOTH %[2]s FROM %[1]s)"
	trimOf   = "trim(%[1]s, %[2]s)"
)

const decimalSum = "sum(CAST(%s AS DECIMAL(20, 0)))"

var dialects = []Dialect{
	{"postgres", "double precision", "bigint", "text", "sum(%s)", "\n  OFFSET 0", trimFrom, ` COLLATE "C"`, `"`, doubled, prefixed},
	{"duckdb", "DOUBLE", "BIGINT", "VARCHAR", "sum(%s)", "", trimFrom, "", `"`, doubled, doubled},
	{"spark", "DOUBLE", "BIGINT", "STRING", decimalSum, "", trimFrom, "", "`", doubled, backslashed},
	{"trino", "DOUBLE", "BIGINT", "VARCHAR", decimalSum, "", trimFrom, "", `"`, doubled, doubled},
	{"bigquery", "FLOAT64", "INT64", "STRING", "sum(CAST(%s AS NUMERIC))", "", trimOf, "", "`", backslashed, backslashed},
	{"snowflake", "DOUBLE", "BIGINT", "VARCHAR", decimalSum, "", trimOf, "", `"`, doubled, backslashed},
	{"clickhouse", "Nullable(Float64)", "Nullable(Int64)", "Nullable(String)", "sum(CAST(%s AS Nullable(Int128)))", "", trimFrom, "", "`", backslashed, backslashed},
}

// Dialects are the names that DialectOf knows.
func Dialects() []string {
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return names
}

// DialectOf returns the dialect with that name.
func DialectOf(name string) (Dialect, error) {
	i := slices.IndexFunc(dialects, func(d Dialect) bool { return d.Name == name })
	if i < 0 {
		return Dialect{}, fmt.Errorf("no dialect %q: they are %s", name, strings.Join(Dialects(), ", "))
	}
	return dialects[i], nil
}

// Postgres is the dialect of PostgreSQL.
func Postgres() Dialect { return dialects[0] }

// DuckDB is the dialect of DuckDB.
func DuckDB() Dialect { return dialects[1] }

// name quotes a name, which is then taken exactly as it is: upper and lower case are
// different, whatever the engine does to names without quotation marks.
func (d Dialect) name(name string) string {
	return d.quote + d.names.within(name, d.quote) + d.quote
}

func (d Dialect) literal(text string) string {
	how, prefix := d.strings, ""
	if how == prefixed {
		how = doubled
		if strings.Contains(text, `\`) {
			text, prefix = strings.ReplaceAll(text, `\`, `\\`), "E"
		}
	}
	return prefix + "'" + how.within(text, "'") + "'"
}

func (e escape) within(text, quote string) string {
	if e == backslashed {
		return strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(text)
	}
	return strings.ReplaceAll(text, quote, quote+quote)
}

// number is x as a 64-bit floating-point number. The shortest decimal that reads back
// as x is a text here, so that no engine takes it for a decimal type of its own.
func (d Dialect) number(x float64) string {
	return fmt.Sprintf("CAST('%s' AS %s)", strconv.FormatFloat(x, 'g', -1, 64), d.float)
}

// Table is the name of a table or view: its parts, such as schema and table.
type Table []string

// maxParts: catalog, schema, table; BigQuery has project, dataset, table.
const maxParts = 3

// ParseTable reads a name such as people, public.people or "odd.name".people: up to
// three parts between dots, each as it is, or in double quotation marks, of which two
// are one within. Errors: another form, and what schema.CheckName refuses of a part.
func ParseTable(text string) (Table, error) {
	var t Table
	for rest, more := text, true; more; {
		part, after, err := nextPart(rest)
		if err != nil {
			return nil, fmt.Errorf("table %q: %w", text, err)
		}
		t = append(t, part)
		rest, more = strings.CutPrefix(after, ".")
	}
	if len(t) > maxParts {
		return nil, fmt.Errorf("table %q: at most %d parts can stand between dots", text, maxParts)
	}
	return t, nil
}

// nextPart reads one part; after is empty or begins with a dot.
func nextPart(text string) (part, after string, err error) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text, '.')
		if end < 0 {
			end = len(text)
		}
		part, after = text[:end], text[end:]
		if strings.Contains(part, `"`) {
			return "", "", fmt.Errorf("a quotation mark stands within a part: put the whole part in quotation marks, and two for one within")
		}
		return part, after, schema.CheckName(part)
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '"':
		case strings.HasPrefix(text[i+1:], `"`):
			i++
		case i+1 < len(text) && text[i+1] != '.':
			return "", "", fmt.Errorf("a dot must follow the part in quotation marks")
		default:
			part = strings.ReplaceAll(text[1:i], `""`, `"`)
			return part, text[i+1:], schema.CheckName(part)
		}
	}
	return "", "", fmt.Errorf("a quotation mark is never closed")
}

// In is the name in a query of a dialect.
func (t Table) In(d Dialect) string {
	parts := make([]string, len(t))
	for i, part := range t {
		parts[i] = d.name(part)
	}
	return strings.Join(parts, ".")
}
