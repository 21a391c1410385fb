package pushdown

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/internal/jsontree"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Format names this form of a result.
const Format = "dpreg-aggregates/1"

// Aggregates are the result of a query: as sensitive as the rows. Integers are decimal
// texts, since many a client makes floating-point numbers of large ones.
type Aggregates struct {
	Design string `json:"design"` // Query.ID
	Rows   string `json:"rows"`
	Counts string `json:"counts"` // of each column, of cells that have a number
	Sums   string `json:"sums"`   // in canonical order, between commas: Σ k_j and then Σ k_i k_j
}

// Format prints no sum, whatever the verb.
func (a Aggregates) Format(f fmt.State, _ rune) {
	io.WriteString(f, "pushdown.Aggregates(sums withheld)")
}

// maxFile is the largest file of aggregates, in bytes: that of schema.MaxColumns.
const maxFile = 64 << 20

// ReadAggregates reads a result as clients write one row in JSON: an object, or a list of
// one object. name is what errors call the file; they hold nothing of its content. Errors:
// no such JSON, other names of columns, a column twice, more than one row, more than 64 MiB.
func ReadAggregates(r io.Reader, name string) (Aggregates, error) {
	var a Aggregates
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return a, err
	case len(text) > maxFile:
		return a, fmt.Errorf("%s: it is larger than %d bytes", name, maxFile)
	}
	if err := a.decode(text); err != nil {
		return Aggregates{}, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

// File is the name of a file with a result: it sums rows as a database does.
type File string

// Header returns no names, which the file has not.
func (File) Header() []string { return nil }

// Close has nothing to close.
func (File) Close() {}

func (path File) String() string { return string(path) }

// Sum reads the result, which must be of the query.
func (path File) Sum(_ context.Context, q *Query) (*ssp.Statistics, error) {
	file, err := os.Open(string(path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	a, err := ReadAggregates(file, string(path))
	if err != nil {
		return nil, err
	}
	return q.Statistics(a, string(path))
}

var errForm = errors.New(`it is not the one row of the query's result in JSON: {"design": "…", "rows": "…", "counts": "…", "sums": "…"}, or a list of that one object`)

func (a *Aggregates) decode(text []byte) error {
	tree, err := jsontree.Decode(text)
	if rows, ok := tree.([]any); ok && len(rows) == 1 {
		tree = rows[0]
	}
	row, _ := tree.(map[string]any)
	places := map[string]*string{"design": &a.Design, "rows": &a.Rows, "counts": &a.Counts, "sums": &a.Sums}
	if err != nil || len(row) != len(places) {
		return errForm
	}
	for key, place := range places {
		var isText bool
		if *place, isText = row[key].(string); !isText {
			return errForm
		}
	}
	return nil
}

// Statistics are the sums, once they are found to be ones that rows can have. Errors name
// where they are from, and hold no sum: a result of another query, a cell that is missing (table.ErrMissing) or has no
// number, with the name of its column, no integers, what ssp.StatisticsOf refuses.
func (q *Query) Statistics(a Aggregates, from string) (*ssp.Statistics, error) {
	s, err := q.statistics(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return s, nil
}

func (q *Query) statistics(a Aggregates) (*ssp.Statistics, error) {
	if a.Design != q.ID() {
		return nil, errors.New("it is the result of another query: columns, formula, bounds, levels and what becomes of missing cells " +
			"must be those that the query was written with, and so must the version of the program be")
	}
	rows, err := strconv.ParseInt(a.Rows, 10, 64)
	if err != nil {
		return nil, errors.New(`"rows" is no integer`)
	}
	if err := q.complete(rows, a.Counts); err != nil {
		return nil, err
	}
	m := len(q.columns)
	sums, err := integers(a.Sums, m+m*(m+1)/2)
	if err != nil {
		return nil, fmt.Errorf(`"sums": %w`, err)
	}
	for _, sum := range sums[:m] {
		sum.Lsh(sum, ssp.LatticeBits)
	}
	return ssp.StatisticsOf(m, rows, sums)
}

// complete refuses a column in which not every row has a number.
func (q *Query) complete(rows int64, counts string) error {
	list, err := integers(counts, len(q.columns))
	if err != nil {
		return fmt.Errorf(`"counts": %w`, err)
	}
	for _, f := range q.fields {
		for _, j := range f.columns {
			if !list[j].IsInt64() || list[j].Int64() != rows {
				return q.lacks(j)
			}
		}
	}
	return nil
}

// lacks is the error of a row that has no number in column j.
func (q *Query) lacks(j int) error {
	f := q.fields[slices.IndexFunc(q.fields, func(f field) bool { return slices.Contains(f.columns, j) })]
	if q.options.Missing == table.MissingError {
		return fmt.Errorf("column %q: %w, or %w", f.name, table.ErrMissing, f.wrong)
	}
	return fmt.Errorf("column %q: %w", f.name, f.wrong)
}

// maxDigits bounds an integer: 2⁸⁰ has 25 digits.
const maxDigits = 40

// integers reads so many integers between commas.
func integers(text string, want int) ([]*big.Int, error) {
	if n := strings.Count(text, ",") + 1; n != want {
		return nil, fmt.Errorf("%d numbers where the design has %d", n, want)
	}
	list := make([]*big.Int, 0, want)
	for item := range strings.SplitSeq(text, ",") {
		digits := strings.TrimPrefix(item, "-")
		v, ok := new(big.Int).SetString(digits, 10)
		if !ok || len(digits) > maxDigits || strings.ContainsAny(digits, "+-_") {
			return nil, fmt.Errorf("number %d is no integer", len(list)+1)
		}
		if digits != item {
			v.Neg(v)
		}
		list = append(list, v)
	}
	return list, nil
}

// RowsSQL writes the query of the rows themselves, on the lattice, for looks at rows in a frame:
// SQL has no square root that is the same everywhere. Each row of the result is one text, named
// row: the integers between commas, nothing where a cell has no number, and, where the options name a
// column of persons, its text behind another comma.
func (q *Query) RowsSQL(d Dialect, t Table) string {
	var b strings.Builder
	b.WriteString("SELECT\n  ")
	for j := range q.columns {
		if j > 0 {
			b.WriteString(" || ',' || ")
		}
		fmt.Fprintf(&b, "coalesce(%s, '')", d.asText(fmt.Sprintf("k%d", j+1)))
	}
	if q.person != nil {
		b.WriteString(" || ',' || coalesce(p3, '')")
	}
	q.write(&b, "row", d, t)
	return b.String()
}

// Rows can deliver what RowsSQL asks for.
type Rows interface {
	Scan(ctx context.Context, q *Query, each func(row string) error) error
}

// Scan hands rows in scaled units to the sink, one after another, some at a time, each with what
// stands for its person behind it where options name a column of persons. Errors hold no
// number: a cell that is missing (table.ErrMissing) or has none, with the name of its column, what
// is no row of the query, those of from and of the sink.
func (q *Query) Scan(ctx context.Context, from Rows, sink func(rows []float64) error) error {
	m := len(q.columns)
	if q.person != nil {
		m += len(q.person.Of(""))
	}
	some := make([]float64, 0, 1024*m)
	err := from.Scan(ctx, q, func(row string) error {
		if len(some) == cap(some) {
			if err := sink(some); err != nil {
				return err
			}
			some = some[:0]
		}
		some = some[:len(some)+m]
		return q.parse(row, some[len(some)-m:])
	})
	if err != nil {
		return err
	}
	return sink(some)
}

func (q *Query) parse(text string, row []float64) error {
	if q.person != nil {
		var err error
		if text, row, err = q.whose(text, row); err != nil {
			return err
		}
	}
	if strings.Count(text, ",") != len(row)-1 {
		return errRow
	}
	for j := range row {
		digits, rest, _ := strings.Cut(text, ",")
		text = rest
		if digits == "" {
			return q.lacks(j)
		}
		k, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || k < -unit || k > unit {
			return errRow
		}
		row[j] = float64(k) / unit
	}
	return nil
}

// whose takes the person from the end of a row, and what stands for it.
func (q *Query) whose(text string, row []float64) (string, []float64, error) {
	m, end := len(q.columns), 0
	for range m {
		comma := strings.IndexByte(text[end:], ',')
		if comma < 0 {
			return "", nil, errRow
		}
		end += comma + 1
	}
	if text[end:] == "" {
		return "", nil, table.ErrNobody
	}
	id := q.person.Of(text[end:])
	copy(row[m:], id[:])
	return text[:end-1], row[:m], nil
}

var errRow = errors.New("what came is no row of the query")
