package pushdown

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// model is a regression of y on a number, a factor and a truth value of these names.
func model(t testing.TB, number, factor, boolean, y string, levels ...string) *schema.Design {
	t.Helper()
	s := &schema.Schema{Columns: []schema.Column{
		{Name: number, Lower: 0, Upper: 4},
		{Name: factor, Type: "string", Levels: levels},
		{Name: boolean, Type: "boolean", Upper: 1},
		{Name: y, Lower: -1, Upper: 1},
	}}
	d, err := s.Design("")
	if err != nil {
		t.Skip(err) // of a fuzzed name
	}
	return d
}

func query(t testing.TB, d *schema.Design, o table.Options) *Query {
	t.Helper()
	return must.Get(New(d, o))(t)
}

// A result of another design, other bounds or another treatment of cells is not taken.
func TestID(t *testing.T) {
	d := model(t, "x", "f", "b", "y", "u", "v")
	narrow := *d
	narrow.Response.Upper = 0.5
	without := *d
	without.Intercept = false
	seen := map[string]bool{}
	for _, q := range []*Query{
		query(t, d, table.Options{}),
		query(t, &narrow, table.Options{}),
		query(t, &without, table.Options{}),
		query(t, model(t, "x", "f", "b", "y", "v", "u"), table.Options{}),
		query(t, d, table.Options{Missing: table.Midpoint}),
		query(t, d, table.Options{NA: []string{"NA", "-1"}}),
	} {
		if seen[q.ID()] {
			t.Error("two queries have one ID")
		}
		seen[q.ID()] = true
	}
	if same := query(t, d, table.Options{Missing: table.MissingError, NA: []string{" NA"}}); !seen[same.ID()] {
		t.Error("the defaults, said aloud, are another query")
	}
}

// result is what a table of n rows gives: all values 1 on the lattice.
func result(q *Query, n int64) Aggregates {
	m := len(q.columns)
	repeated := func(times int, bits uint) string {
		sum := new(big.Int).Lsh(big.NewInt(n), bits).String()
		return strings.Repeat(sum+",", times-1) + sum
	}
	return Aggregates{q.ID(), fmt.Sprint(n), repeated(m, 0), repeated(m, ssp.LatticeBits) + "," + repeated(m*(m+1)/2, 2*ssp.LatticeBits)}
}

func TestStatistics(t *testing.T) {
	q := query(t, model(t, "x", "f", "b", "y", "u", "v"), table.Options{})
	for _, n := range []int64{1, ssp.MaxRows} {
		s := must.Get(q.statistics(result(q, n)))(t)
		want := new(big.Int).Lsh(big.NewInt(n), 2*ssp.LatticeBits)
		for i, sum := range s.BigInts() {
			if s.N != n || sum.Cmp(want) != 0 {
				t.Errorf("sum %d of %d rows is %v", i+1, s.N, sum)
			}
		}
	}
	if _, err := q.statistics(result(q, ssp.MaxRows+1)); err == nil {
		t.Error("one row more is taken")
	}
}

func TestStatisticsRefuses(t *testing.T) {
	d := model(t, "x", "f", "b", "y", "u", "v")
	for _, c := range []struct {
		missing table.Missing
		change  func(a *Aggregates)
		says    string
	}{
		{"", func(a *Aggregates) { a.Design = strings.Replace(a.Design, "1", "2", 1) }, "another query"},
		{"", func(a *Aggregates) { a.Rows = "1.0" }, "rows"},
		{"", func(a *Aggregates) { a.Rows, a.Counts = "-1", "-1,-1,-1,-1" }, "negative"},
		{"", func(a *Aggregates) { a.Counts = "1,1,1" }, "3 numbers"},
		{"", func(a *Aggregates) { a.Counts = "0,1,1,1" }, `"x": missing value`},
		{table.Midpoint, func(a *Aggregates) { a.Counts = "0,1,1,1" }, `"x": a cell is no finite number`},
		{table.Drop, func(a *Aggregates) { a.Counts = "1,0,1,1" }, `"f": a cell is none of the levels`},
		{table.Drop, func(a *Aggregates) { a.Counts = "1,1,0,1" }, `"b": a cell is neither`},
		{"", func(a *Aggregates) { a.Sums += ",1" }, "15 numbers"},
		{"", func(a *Aggregates) { a.Sums = strings.Replace(a.Sums, "1099511627776", "1.099511627776e12", 1) }, "number 5 is no integer"},
		{"", func(a *Aggregates) { a.Sums = strings.Replace(a.Sums, "1048576", "--1048576", 1) }, "number 1 is no integer"},
		{"", func(a *Aggregates) { a.Sums = strings.Replace(a.Sums, "1048576", strings.Repeat("9", 41), 1) }, "number 1 is no integer"},
		{"", func(a *Aggregates) { a.Sums = strings.Replace(a.Sums, "1048576", "1048577", 1) }, "sum 1 is none"},
		{"", func(a *Aggregates) { a.Sums = strings.Replace(a.Sums, "1048576", "1048578", 1) }, "none that so many rows"},
	} {
		q := query(t, d, table.Options{Missing: c.missing})
		a := result(q, 1)
		c.change(&a)
		_, err := q.statistics(a)
		must.Fail(t, err, c.says)
		if errors.Is(err, table.ErrMissing) != strings.Contains(c.says, "missing value") {
			t.Errorf("%q: %v is ErrMissing, or should be", c.says, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	d := model(t, "x", "f", "b", "y", "u", "NA")
	must.Fail(t, must.Err(New(d, table.Options{})), `"NA" is a level`)
	if _, err := New(d, table.Options{NA: []string{}}); err != nil {
		t.Error(err)
	}
	if _, err := New(d, table.Options{NA: []string{}, Missing: "guess"}); err == nil {
		t.Error("an option that does not exist is taken")
	}
	d.Response.Upper = -1
	if _, err := New(d, table.Options{NA: []string{}}); err == nil {
		t.Error("an invalid design is taken")
	}
}

const sound = `{"design": "d", "rows": "2", "counts": "2,2", "sums": "1,2,3,4,5"}`

func TestReadAggregates(t *testing.T) {
	for _, text := range []string{sound, "[" + sound + "]\n", "\n [\n" + sound + " ] "} {
		a, err := ReadAggregates(strings.NewReader(text), "agg.json")
		if err != nil || a != (Aggregates{"d", "2", "2,2", "1,2,3,4,5"}) {
			t.Errorf("%s: error %v", text, err)
		}
		if printed := fmt.Sprintf("%v %+v %s %x", a, a, &a, a); strings.Contains(printed, "1,2,3") {
			t.Errorf("printed: %s", printed)
		}
	}
	for _, text := range []string{
		"", "{}", "[]", "null", "7", `"a"`, "[" + sound + "," + sound + "]", sound + sound, "[[" + sound + "]]", sound[1:], sound[:len(sound)-1],
		strings.Replace(sound, `"2"`, "2", 1), strings.Replace(sound, "rows", "ROWS", 1), strings.Replace(sound, "{", `{"more": "1",`, 1),
		strings.Replace(sound, "{", `{"rows": "8",`, 1), strings.Replace(sound, `"2"`, "null", 1), strings.Replace(sound, `"rows": "2",`, "", 1),
	} {
		if _, err := ReadAggregates(strings.NewReader(text), "agg.json"); err == nil || !strings.HasPrefix(err.Error(), "agg.json: ") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

func FuzzReadAggregates(f *testing.F) {
	q := query(f, model(f, "x", "f", "b", "y", "u", "v"), table.Options{})
	f.Add(sound)
	f.Add("[" + sound + "]")
	f.Add(fmt.Sprintf(`{"design": %q, "rows": "1", "counts": "1,1,1,1", "sums": "0,0,0,0,0,0,0,0,0,0,0,0,0,-0"}`, q.ID()))
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ReadAggregates(strings.NewReader(text), "f")
		if err == nil {
			_, _ = q.statistics(a) // no panic
		}
	})
}

func TestParseTable(t *testing.T) {
	for text, want := range map[string]string{
		"people": "people", "public.people": "public|people", `"odd.name".people`: "odd.name|people",
		`a."b""c"`: `a|b"c`, "project-1.set.t": "project-1|set|t", "Große Tabelle": "Große Tabelle",
	} {
		if got, err := ParseTable(text); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: %q, error %v", text, got, err)
		}
	}
	for _, text := range []string{"", ".", "a.", ".a", "a..b", "a.b.c.d", `"a`, `"a"b`, `a"b"`, `""`, "a\nb", "a\x00", " a"} {
		if got, err := ParseTable(text); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}
