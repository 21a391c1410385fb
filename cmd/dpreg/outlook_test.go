package main

import (
	"fmt"
	"strings"
	"testing"
)

// Before ε is spent on rows of which next to nothing can be learned one line says so, from
// public facts alone, and what would help; it stops nothing.
func TestForetell(t *testing.T) {
	workspace(t)
	var names, fields []string
	for i := range 11 {
		names = append(names, fmt.Sprintf("x%d", i))
		fields = append(fields, fmt.Sprintf(`{"name": "x%d", "type": "number", "constraints": {"minimum": 0, "maximum": 1}}`, i))
	}
	for name, cell := range map[string]string{"w": "0.25", "v": "0.75"} {
		line := "\n" + strings.TrimSuffix(strings.Repeat(cell+",", 11), ",")
		write(t, name+".csv", strings.Join(names, ",")+strings.Repeat(line, 32)+"\n")
		write(t, name+".schema.json", `{"fields": [`+strings.Join(fields, ", ")+"]}")
	}
	warning := func(line string) (found string) {
		t.Helper()
		r := command(strings.Fields(line)...).ends(t, done)
		before, _, _ := strings.Cut(r.stderr, "release written to")
		for said := range strings.Lines(before) {
			if strings.Contains(said, "next to nothing") {
				found += said
			}
		}
		return found
	}
	says := warning("release w.csv --eps 1 -o w.json")
	for _, part := range []string{"± 1 or wider", "9700 rows", "with one covariate 610 rows", "dpreg plan"} {
		if !strings.Contains(says, part) || strings.Count(says, "\n") != 1 {
			t.Errorf("%q does not say %q in one line", says, part)
		}
	}
	if other := warning("release v.csv --eps 1 -o v.json"); other != says {
		t.Errorf("%q of some rows, %q of others", says, other)
	}
	if says := warning("release pums.csv --eps 0.1 --steps 1 --formula income~educ -o q.json"); !strings.Contains(says, "or ε = 0.") {
		t.Errorf("%q names no ε that would do", says)
	}
	for line, want := range map[string]bool{
		"release w.csv --eps 1 --delta 1e-6 -o d.json":                        true,
		"fit w.csv --eps 1 --release f.json --method naive":                   true,
		"fit w.csv --eps 1 --release w.json --method naive":                   false, // nothing is spent
		"release w.csv --eps 1000 -o e.json":                                  false,
		"release w.csv --eps 30 --formula x10~x1 -o g.json":                   false,
		"release w.csv --eps 1 --neighbours add-remove -o a.json --no-ledger": false, // n is not public
		"release w.csv --eps 0.1 --formula x10~x1 -o h.json":                  true,
		"release pums.csv --eps 1 --formula income~educ -o p.json":            false,
	} {
		if got := warning(line); (got != "") != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
