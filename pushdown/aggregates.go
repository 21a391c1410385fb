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
