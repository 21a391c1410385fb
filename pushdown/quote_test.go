package pushdown

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

func TestQuoting(t *testing.T) {
	const odd = "a'b\"c`d\\e"
	for name, want := range map[string][2]string{
		"postgres":   {"\"a'b\"\"c`d\\e\"", "E'a''b\"c`d\\\\e'"},
		"duckdb":     {"\"a'b\"\"c`d\\e\"", "'a''b\"c`d\\e'"},
		"spark":      {"`a'b\"c``d\\e`", "'a\\'b\"c`d\\\\e'"},
		"trino":      {"\"a'b\"\"c`d\\e\"", "'a''b\"c`d\\e'"},
		"bigquery":   {"`a'b\"c\\`d\\\\e`", "'a\\'b\"c`d\\\\e'"},
		"snowflake":  {"\"a'b\"\"c`d\\e\"", "'a\\'b\"c`d\\\\e'"},
		"clickhouse": {"`a'b\"c\\`d\\\\e`", "'a\\'b\"c`d\\\\e'"},
	} {
		d := must.Get(DialectOf(name))(t)
		if got := [2]string{d.name(odd), d.literal(odd)}; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	must.Fail(t, must.Err(DialectOf("oracle")), "clickhouse")
}

// skeleton reads a query as a dialect's lexer does: it returns the text without what stands
// in quotation marks, and that.
func skeleton(t *testing.T, d Dialect, sql string) (outside string, quoted []string) {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(sql); i++ {
		mark, escaped := sql[i], false
		switch {
		case string(mark) == d.quote:
			escaped = d.names == backslashed
		case mark == '\'':
			escaped = d.strings == backslashed || d.strings == prefixed && sql[i-1] == 'E'
		default:
			b.WriteByte(mark)
			continue
		}
		var text strings.Builder
		for i++; ; i++ {
			if i >= len(sql) {
				t.Fatalf("%s: a quotation mark is never closed", d.Name)
			}
			if escaped && sql[i] == '\\' {
				i++
			} else if sql[i] == mark && i+1 < len(sql) && sql[i+1] == mark && !(escaped && d.strings != prefixed) {
				i++
			} else if sql[i] == mark {
				break
			}
			text.WriteByte(sql[i])
		}
		b.WriteString("?")
		quoted = append(quoted, text.String())
	}
	return strings.ReplaceAll(b.String(), "E?", "?"), quoted
}

// FuzzInjection: whatever names and levels are, the query is that of plain ones but for
// what stands in quotation marks, where they stand as they are.
func FuzzInjection(f *testing.F) {
	f.Add("x", "y", "u", "t")
	f.Add(`x"; DROP TABLE t; --`, "y' OR '1'='1", "\\'; --", "t`; --")
	f.Add(`\`, `\\`, `'`, `''`)
	f.Add("`", `"`, `\"`, "\\`")
	f.Fuzz(func(t *testing.T, number, factor, level, name string) {
		if schema.CheckName(name) != nil || slices.Contains([]string{"NA", "z"}, level) {
			t.Skip()
		}
		o := table.Options{Missing: table.Drop, NA: []string{level + "!", "-1"}}
		odd := query(t, model(t, number, factor, "b", "response", level, "z"), o)
		plain := query(t, model(t, "x", "f", "b", "response", "u", "z"), o)
		for _, d := range dialects {
			got, quoted := skeleton(t, d, odd.SQL(d, Table{"s", name}))
			want, _ := skeleton(t, d, plain.SQL(d, Table{"s", "t"}))
			if got != want {
				t.Errorf("%s: another query:\n%s", d.Name, got)
			}
			for _, text := range []string{number, factor, level, name} {
				if !slices.Contains(quoted, text) {
					t.Errorf("%s: %q is not in the query as it is", d.Name, text)
				}
			}
		}
	})
}

// Secrets of addresses are hidden in whatever quotes them; of other texts, nothing is.
func TestHide(t *testing.T) {
	for typed, c := range map[string]struct{ message, want string }{
		"postgres://owner%3Ahunter2%40localhost/db":    {"lookup owner:hunter2@localhost: no such host", "lookup owner:…@localhost: no such host"},
		"postgres://o:p/w%40rd@d x@h/db":               {`"p/w%40rd@d x" or p/w@rd@d x`, `"…" or …`},
		"--from=postgres://o@h/db?password=pw%40d&x=1": {"pw%40d pw@d of postgres://user@host", "… … of postgres://user@host"},
		"x('host=h PASSWORD = ''p wd''', 't')":         {"p wd", "…"},
		"--tabel=host=h password=p,w'd":                {"password='p,w''d'", "password='…'"},
		"https://ghp_abc@h/a.csv":                      {"ghp_abc", "…"},
		"postgres://tokens@h/db":                       {"tokens=0:1", "tokens=0:1"},
		"tokens=0:1000":                                {"--bounds tokens=0:1000", "--bounds tokens=0:1000"},
		"income ~ secretary":                           {"secretary=0:1, password = x://a:b@c", "secretary=0:1, password = x://a:b@c"},
	} {
		var got strings.Builder
		fmt.Fprint(Hide(&got, Secrets("--eps", typed)), c.message)
		if got.String() != c.want {
			t.Errorf("%s: %q, want %q", typed, got.String(), c.want)
		}
	}
}

// Secrets of a driver's message go, wherever they end; all else stays.
func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"open postgres://o:p/w@d x@h/db: no file":    "open postgres://…@h/db: no file",
		"a?user=o&password=pw%40&x=1":                "a?user=o&password=…&x=1",
		"('host=h PASSWORD = ''p w''', 't')":         "('host=h PASSWORD = …",
		"s3://b?s3_secret_access_key=k&region=r":     "s3://b?s3_secret_access_key=…&region=r",
		"https://h/x?X-Amz-Signature=s&sig=t\nnext":  "https://h/x?X-Amz-Signature=…&sig=…\nnext",
		`--bounds "age=0:100", sigma=3, key=0:1`:     `--bounds "age=0:100", sigma=3, key=0:1`,
		"--from has a password: see https://h/x.csv": "--from has a password: see https://h/x.csv",
	} {
		if got := Redacted(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The query is the one that was tried on engines, and docs/databases.md has a row for each dialect.
func TestDocumentedQuery(t *testing.T) {
	page := must.Get(os.ReadFile("../docs/databases.md"))(t)
	golden := must.Get(os.ReadFile("testdata/query.golden"))(t)
	s := &schema.Schema{Columns: []schema.Column{{Name: "x", Lower: 0, Upper: 40}, {Name: "y", Lower: -1, Upper: 1}}}
	d := must.Get(s.Design(""))(t)
	duckdb := must.Get(DialectOf("duckdb"))(t)
	if sql := query(t, d, table.Options{}).SQL(duckdb, Table{"people"}); sql != string(golden) {
		t.Errorf("another query:\n%s", sql)
	}
	for _, name := range Dialects() {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("the page has no row of %s", name)
		}
	}
}
