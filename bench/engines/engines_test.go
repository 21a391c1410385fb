//go:build unix

package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/posterior"
)

// TestOneCell: the command runs, and writes its tables where they belong.
func TestOneCell(t *testing.T) {
	dir := t.TempDir()
	page, lines, picture := filepath.Join(dir, "page.md"), filepath.Join(dir, "runs.csv"), filepath.Join(dir, "runs.svg")
	before := "above\n" + string(begin) + "old\n" + string(end) + "below\n"
	if err := os.WriteFile(page, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	args := strings.Fields("-p 1 -n 2,12 -eps 1 -releases 2 -warmup 150 -ess 50 -reference 50 -individual 12 -md " + page + " -csv " + lines + " -plot " + picture)
	if err := run(t.Context(), &stdout, io.Discard, args); err != nil {
		t.Fatal(err)
	}
	text := read(t, page)
	for _, want := range []string{"above\n" + string(begin), string(end) + "below\n", "\n| 1 | 1 | 12 | ", "`--kernel plain`"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\nold") || strings.Contains(text, "| 2 |") || stdout.Len() > 0 {
		t.Errorf("old tables, or a cell with n = m, or text on stdout:\n%s%s", text, &stdout)
	}
	rows, err := csv.NewReader(strings.NewReader(read(t, lines))).ReadAll()
	if err != nil || len(rows) != 1+2*len(engines) {
		t.Errorf("%d lines of CSV, %v", len(rows), err)
	}
	if !strings.Contains(read(t, picture), "p = 1, ε = 1") {
		t.Error("the picture lacks its panel")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestLimit: a run that the limit cuts in warm-up says so, and nothing else.
func TestLimit(t *testing.T) {
	var stdout bytes.Buffer
	args := strings.Fields("-p 3 -n 300 -eps 1 -releases 1 -warmup 1000000 -individual 1 -limit 0.01")
	if err := run(t.Context(), &stdout, io.Discard, args); err != nil {
		t.Fatal(err)
	}
	if row := "| 3 | 1 | 300 | ‡1 | – | ‡1 | ‡1 |\n"; strings.Count(stdout.String(), row) != 3 {
		t.Errorf("not three rows %q:\n%s", row, &stdout)
	}
}

// TestUsage: what cannot be meant is an error.
func TestUsage(t *testing.T) {
	for _, args := range []string{"-n 10,x", "-n -1", "-releases 0", "-limit 0", "stray"} {
		if err := run(t.Context(), io.Discard, io.Discard, strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	if _, err := place([]byte("no marks"), nil); err == nil {
		t.Error("a page without marks: no error")
	}
}

// normal draws two chains of the parameters of p = 2, the first moved and
// stretched. T is near the identity.
func normal(seed uint64, shift, stretch float64) *posterior.Draws {
	rng := rand.New(rand.NewPCG(seed, 1))
	d := &posterior.Draws{Names: cell{p: 2}.shape().Names(), Chains: make([][]float64, 2)}
	for c := range d.Chains {
		for range 2000 {
			row := make([]float64, len(d.Names))
			for j := range row {
				row[j] = rng.NormFloat64()
			}
			row[0] = shift + stretch*row[0]
			row[3] = rng.ExpFloat64() + 0.1
			row[6], row[7], row[8] = 1+rng.Float64(), 0.3*rng.Float64(), 1+rng.Float64()
			d.Chains[c] = append(d.Chains[c], row...)
		}
	}
	return d
}

// TestApart: no difference is told between draws of one law (a false alarm has a
// probability of 2·9·6e-7 = 1e-5, and the seeds are fixed); a shift and a stretch
// are, and nothing where chains have not mixed.
func TestApart(t *testing.T) {
	reference := normal(1, 0, 1)
	if d := apart(normal(2, 0, 1), reference, 2); !d.mixed || d.mean != 0 || d.sd != 0 || !(d.meanBound > 0 && d.meanBound < 0.2 && d.sdBound < 0.2) {
		t.Errorf("the same law: %+v", d)
	}
	if d := apart(normal(2, 0.5, 1), reference, 2); !(d.mean > 0.4 && d.mean < 0.6) || d.sd != 0 {
		t.Errorf("a shift of 0.5: %+v", d)
	}
	if d := apart(normal(2, 0, 1.5), reference, 2); d.mean != 0 || !(d.sd > 0.35 && d.sd < 0.46) {
		t.Errorf("an sd of 1.5: %+v", d)
	}
	stuck := normal(2, 0, 1)
	for i := 0; i < len(stuck.Chains[0]); i += len(stuck.Names) {
		stuck.Chains[0][i] += 3
	}
	if d := apart(stuck, reference, 2); d.mixed {
		t.Errorf("chains apart: %+v", d)
	}
}

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{0.000123: "0.00012", 0.996: "1.0", 1.25: "1.2", 12.4: "12", 996: "1,000", 1234: "1,200", 99600: "100,000"} {
		if got := short(x); got != want {
			t.Errorf("short(%g) = %q, want %q", x, got, want)
		}
	}
}
