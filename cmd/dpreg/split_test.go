package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

// Rows are dealt to parts for one ε; infer takes all of them, pooled partially, says which are missing, and fit uses
// them again.
func TestSplit(t *testing.T) {
	workspace(t)
	made := command("release", "pums.csv", "--eps", "10", "--split", "10", "--formula", educ).says(t, "dpreg infer pums.parts/*.json").says(t, "together they spent ε = 10")
	if made.code != done || !strings.Contains(made.stdout, "all 10 releases of one dealing together") {
		t.Fatalf("exit code %d, stdout:\n%s\nstderr:\n%s", made.code, made.stdout, made.stderr)
	}
	var parts []string
	n := int64(0)
	for _, path := range slices.Sorted(maps.Keys(tree(t))) {
		if strings.HasPrefix(path, "pums.parts/") {
			r := must.Get(release.ReadFile(path))(t)
			parts, n = append(parts, path), n+r.N
		}
	}
	if len(parts) != 10 || parts[0] != "pums.parts/01.json" || n != 1000 {
		t.Fatalf("parts %v of %d rows", parts, n)
	}
	if text := command("ledger", "show", "pums.ledger.db").stdout; !strings.Contains(text, "epsilon = 10, delta = 0") {
		t.Errorf("the ledger shows\n%s", text)
	}
	infer := func(of ...string) result { return command(slices.Concat([]string{"infer"}, quick, of)...) }
	all := infer(append(parts, "--format", "json")...).finished(t).says(t, "--pooling partial")
	var summary struct {
		Pooling  string
		Warnings []string
	}
	if err := json.Unmarshal([]byte(all.stdout), &summary); err != nil || summary.Pooling != "partial" || strings.Contains(strings.Join(summary.Warnings, ""), "same rows") {
		t.Errorf("%+v (%v)", summary, err)
	}
	infer(append(parts, "--save", "d")...).finished(t)
	write(t, "new.csv", "educ\n9\n")
	if r := command("predict", "--draws", "d", "--mean", "new.csv").finished(t).says(t, "rows as those of all parts"); !strings.Contains(r.stdout, "9,") {
		t.Errorf("predictions are %s", r.stdout)
	}
	infer(parts[:6]...).finished(t).says(t, "warning: 6 of 10 parts")
	infer(parts[0]).finished(t).says(t, "warning: 1 of 10 parts")
	infer("good.json", parts[0]).finished(t).says(t, "--pooling complete takes all for custodians")
	if r := infer(append(parts, "--pooling", "complete")...).finished(t); !strings.Contains(r.stdout, "one regression for all") || !strings.Contains(r.stdout, "lose what one release costs.") {
		t.Errorf("complete pooling:\n%s", r.stdout)
	}
	infer(append(parts, "--same-rows")...).says(t, "no row together").ends(t, misused)
	before := tree(t)
	split := []string{"--eps", "10", "--split", "10", "--formula", educ}
	if r := fit(split...).finished(t).says(t, "no further cost").says(t, "which has this release as No 1"); !strings.Contains(r.stdout, "partial\n  pooling") || !strings.Contains(r.stdout, "Each part of the rows has") || strings.Contains(r.stdout, "\neduc @") || !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), "of any spread") {
		t.Errorf("fit:\n%s", r.stdout)
	}
	for says, args := range map[string][]string{
		"to 100":                      {"--split", "1"},
		"has not those of --split 5":  {"--split", "5"},
		"has epsilon 10, not 5":       {"--eps", "5"},
		"name another folder":         {"--spend-again"},
		"--with-moments":              {"--with-moments"},
		"has not those of --split 10": {"--release", "good.json"},
	} {
		if r := fit(append(slices.Clone(split), args...)...).says(t, says); r.code != misused && r.code != refused || r.stdout != "" {
			t.Errorf("%v: exit code %d, stdout %q", args, r.code, r.stdout)
		}
	}
	unchanged(t, before)
}
