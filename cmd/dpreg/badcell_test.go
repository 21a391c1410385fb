package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dpreg/dpreg/internal/must"
)

// No cell ends a run that takes bad cells for missing ones: whatever stands in one place, there is a
// release, and it is that of a missing cell there.
func TestNoCellEndsTheRun(t *testing.T) {
	workspace(t)
	write(t, "v.schema.json", `{"fields": [{"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 9}}, {"name": "b", "type": "boolean"},
		{"name": "f", "type": "string", "constraints": {"enum": ["u", "v"]}}, {"name": "y", "type": "number", "constraints": {"minimum": 0, "maximum": 9}}]}`)
	var lines []string
	for i := range 50 {
		lines = append(lines, fmt.Sprintf("%d,%t,%s,%d", i%10, i%3 == 0, []string{"u", "v"}[i%2], i%7))
	}
	hash := func(name string, cells []string, flags string) string {
		t.Helper()
		all := append(slices.Clone(lines), strings.Join(cells, ","))
		write(t, "v.csv", "x,b,f,y\n"+strings.Join(all, "\n")+"\n")
		path := name + ".json"
		r, got := noisy(t, path, append(strings.Fields("release v.csv --eps 1 --steps 1 --on-bad-cell missing --spend-again -o "+path), strings.Fields(flags)...)...)
		if strings.Contains(r.stdout+r.stderr, "SECRET") {
			t.Errorf("a cell is shown:\n%s", r.stderr)
		}
		return got
	}
	for _, flags := range []string{"--missing midpoint", "--missing drop --neighbours add-remove"} {
		for at, bad := range [][]string{{"SECRET", "NaN", "inf", "1e999", "--", "0x1p-2", "1_0", "\"1,5\"", "\xff"}, {"SECRET", "yes", "2", "tRUE"}, {"SECRET", "w", "U", "\xe9"}, {"SECRET", "4-"}} {
			cells := []string{"1", "true", "u", "2"}
			cells[at] = ""
			want := hash("want", cells, flags)
			for i, text := range bad {
				if testing.Short() && i != at {
					continue
				}
				cells[at] = text
				if got := hash("got", cells, flags); got != want {
					t.Errorf("%s, column %d, %q: another release", flags, at+1, text)
				}
			}
		}
	}
	for _, flags := range []string{"--on-bad-cell missing", "--on-bad-cell missing --missing error"} {
		command(append(strings.Fields("release v.csv --eps 1 -o z.json"), strings.Fields(flags)...)...).says(t, "by --missing drop, or --missing midpoint").ends(t, misused)
	}
	type row struct {
		X float64 `parquet:"x"`
		Y string  `parquet:"y"`
	}
	must.Do(t, parquet.WriteFile("p.parquet", []row{{1, "2"}, {2, "SECRET"}, {3, "1"}}))
	command("release", "p.parquet", "--bounds", "x=0:9,y=0:9", "--eps", "1", "--on-bad-cell", "missing", "--missing", "midpoint").finished(t)
	command("sql", "--dialect", "duckdb", "--table", "t", "--bounds", "x=0:9,y=0:9", "--on-bad-cell", "missing", "--missing", "midpoint").says(t, "NULL in a view").ends(t, misused)
}

// With --pad-time a release is there when that is over, and not before; it says where it took longer.
func TestPadTime(t *testing.T) {
	workspace(t)
	began := time.Now()
	r := command("release", "pums.csv", "--eps", "1", "--pad-time", "0.4").finished(t)
	if took := time.Since(began); took < 400*time.Millisecond || strings.Contains(r.stderr, "took longer") {
		t.Errorf("it took %v: %s", took, r.stderr)
	}
	command("release", "pums.csv", "--eps", "1", "--pad-time", "0.000001", "-o", "b.json").finished(t).says(t, "took longer than 1µs")
	command("release", "pums.csv", "--eps", "1", "--pad-time", "-1", "-o", "c.json").ends(t, misused)
}
