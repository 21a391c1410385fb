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

// TestForetellParts: before ε is spent a line says that parts are too few, or their noise too large; and by the levels of
// which factor there would be less.
func TestForetellParts(t *testing.T) {
	workspace(t)
	for line, want := range map[string]string{
		"--eps 1 --split 8 -o a --formula income~educ":                                                                  "some 3.9 times as wide as those of one release",
		"--eps 1e4 --split 8 -o b --formula income~educ":                                                                "",
		"--eps 1e4 --split 2 -o c --formula income~educ":                                                                "of fewer than 5 parts",
		"--eps 1e4 --split 8 -o d --steps auto --formula income~age+educ":                                               "",
		"--eps 0.5 --split 8 -o e --steps 2 --delta 1e-6 --formula income~age+educ":                                     "leave --split out, or take ε = ",
		"--eps 0.5 -o f --levels educ=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 --formula income~age+educ":                 "; by the levels of educ (--by-level) noise has an sd of 23 in place of 480",
		"--eps 0.5 -o g --levels educ=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 --formula income~age+educ --by-level educ": "",
	} {
		r := command(append([]string{"release", "pums.csv", "--no-ledger"}, strings.Fields(line)...)...).ends(t, done)
		before, _, _ := strings.Cut(r.stderr, "written to")
		if got := strings.Contains(before, "warning: --split") || strings.Contains(before, "by the levels of"); got != (want != "") || !strings.Contains(before, want) {
			t.Errorf("%s: %s", line, r.stderr)
		}
	}
}
