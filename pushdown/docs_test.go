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
	page, err := os.ReadFile("../docs/databases.md")
	must.Do(t, err)
	golden, err := os.ReadFile("testdata/query.golden")
	must.Do(t, err)
	s := &schema.Schema{Columns: []schema.Column{{Name: "x", Lower: 0, Upper: 40}, {Name: "y", Lower: -1, Upper: 1}}}
	d, err := s.Design("")
	must.Do(t, err)
	duckdb, err := DialectOf("duckdb")
	must.Do(t, err)
	if sql := query(t, d, table.Options{}).SQL(duckdb, Table{"people"}); sql != string(golden) {
		t.Errorf("another query:\n%s", sql)
	}
	for _, name := range Dialects() {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("the page has no row of %s", name)
		}
	}
}
