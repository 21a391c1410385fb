package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestRun: the command runs, and writes its tables.
func TestRun(t *testing.T) {
	numbers, longest = []int{1, 2}, 1
	var stdout bytes.Buffer
	if err := run(t.Context(), &stdout, io.Discard, []string{"-n", "5000", "-trials", "2", "-draws", "20", "-case", "ε = 1", "-delta", "1e-6"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| J = 2, ε = 1 |", " summed |", " mcmc-exact |", " normalx |", " fixeds |\n"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, &stdout)
		}
	}
}

// TestSummedIsWorthLess: where noise is unequal, the sum of releases has wider
// intervals than the releases.
func TestSummedIsWorthLess(t *testing.T) {
	s := &settings{rows: 5000, trials: 1, draws: 300, seed: 1}
	c := s.cases()
	results, err := s.study(t.Context(), c[len(c)-2])
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
