package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file writes rows like Adult's.
func file(t *testing.T, path string, rows int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	var b strings.Builder
	for range rows {
		age, education := 17+rng.IntN(60), 1+rng.IntN(16)
		hours := 30 + education/2 + rng.IntN(20)
		fmt.Fprintf(&b, "%d, Private, 1, Bachelors, %d, a, b, c, d, Male, %d, %d, %d, e, <=50K\n", age, education, rng.IntN(5000), rng.IntN(900), hours)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRun: the command runs, and puts its table where it belongs.
func TestRun(t *testing.T) {
	epsilons, partitions = []float64{0.2}, []partition{{"2, alike", 2, 0}}
	dir := t.TempDir()
	file(t, filepath.Join(dir, "adult.data"), 1000)
	file(t, filepath.Join(dir, "adult.test"), 100)
	page, picture := filepath.Join(dir, "page.md"), filepath.Join(dir, "page.svg")
	if err := os.WriteFile(page, []byte("above\n"+string(begin)+"old\n"+string(end)+"below\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), io.Discard, io.Discard, []string{"-seeds", "2", "-md", page, "-plot", picture, dir}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"above\n", "| non-private, pooled |", "| 2, alike | 0.2 | releases, mcmc-exact |", "| DP-PVI, gradients |", "below\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old\n") {
		t.Error("the old table stays")
	}
	if info, err := os.Stat(picture); err != nil || info.Size() == 0 {
		t.Errorf("no picture: %v", err)
	}
}

// Errors name file and line.
func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := run(t.Context(), io.Discard, io.Discard, []string{dir}); err == nil || !strings.Contains(err.Error(), "adult.data") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "adult.data"), []byte("|comment\n1, 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(dir, "adult.data"); err == nil || !strings.Contains(err.Error(), "adult.data:2") {
		t.Error(err)
	}
	if err := run(t.Context(), &bytes.Buffer{}, io.Discard, nil); err == nil {
		t.Error("no directory: no error")
	}
}
