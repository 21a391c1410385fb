package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun: the command runs, and puts its tables where they belong.
func TestRun(t *testing.T) {
	numbers, longest = []int{1, 2}, 1
	dir := t.TempDir()
	page, picture := filepath.Join(dir, "page.md"), filepath.Join(dir, "page.svg")
	if err := os.WriteFile(page, []byte("above\n"+string(begin)+"old\n"+string(end)+"below\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	if err := run(t.Context(), &stdout, io.Discard, strings.Fields("-n 5000 -trials 2 -draws 20 -eps 1 -delta 1e-6 -md "+page+" -plot "+picture)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"above\n", "| J = 2, ε = 1 |", " summed |", " mcmc-exact |", " normalx |", " fixeds |\n", "below\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old\n") || stdout.Len() > 0 {
		t.Error("old tables stay, or stdout has some")
	}
	if info, err := os.Stat(picture); err != nil || info.Size() == 0 {
		t.Errorf("no picture: %v", err)
	}
}

// TestSummedIsWorthLess: where noise is unequal, the sum of releases has wider
// intervals than the releases.
func TestSummedIsWorthLess(t *testing.T) {
	s := &settings{rows: 5000, trials: 1, draws: 300, seed: 1}
	c := s.cases()
	results, err := s.study(t.Context(), c[len(c)-4])
	if err != nil {
		t.Fatal(err)
	}
	width := map[string]float64{}
	for _, r := range results {
		width[r.method] = r.width
	}
	if !(width["mcmc-exact"] < 0.7*width["summed"]) {
		t.Errorf("widths %v", width)
	}
}
