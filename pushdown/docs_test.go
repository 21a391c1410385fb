package pushdown

import (
	"os"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

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
