package pushdown

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/table"
)

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
