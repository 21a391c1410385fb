package pushdown

import (
	"os"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// The query that docs/databases.md shows is the one that is written.
func TestDocumentedQuery(t *testing.T) {
	page, err := os.ReadFile("../docs/databases.md")
	if err != nil {
		t.Fatal(err)
	}
	s := &schema.Schema{Columns: []schema.Column{{Name: "x", Lower: 0, Upper: 40}, {Name: "y", Lower: -1, Upper: 1}}}
	d, err := s.Design("")
	if err != nil {
		t.Fatal(err)
	}
	duckdb, err := DialectOf("duckdb")
	if err != nil {
		t.Fatal(err)
	}
	if sql := query(t, d, table.Options{}).SQL(duckdb, Table{"people"}); !strings.Contains(string(page), "```sql\n"+sql+"```") {
		t.Errorf("the page has another query than\n%s", sql)
	}
	for _, name := range Dialects() {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("the page has no row of %s", name)
		}
	}
}
