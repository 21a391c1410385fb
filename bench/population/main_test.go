package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// Studies of a table and of normal rows run, and their results stand in one table.
func TestRun(t *testing.T) {
	testsize.Full(t, "TestCalibratePopulation of cmd/dpreg has such a study")
	t.Chdir("../..")
	dir := t.TempDir()
	var stdout bytes.Buffer
	line := "-only diabetes,normal-0.03-off " + dir + " --n 300 --eps 1 --trials 1 --chains 1 --draws 150"
	must.Do(t, run(t.Context(), &stdout, io.Discard, strings.Fields(line)))
	if text := stdout.String(); !strings.Contains(text, "== all\nSlopes: ") || !strings.Contains(text, "of 2 cells") {
		t.Error(text)
	}
	text, err := os.ReadFile(filepath.Join(dir, "population.csv"))
	if err != nil || bytes.Count(text, []byte("\n")) != 1+5+3 || !bytes.Contains(text, []byte("\nnormal-0.03-off,300,1,1,mcmc-exact,")) {
		t.Errorf("%v:\n%s", err, text)
	}
	must.Fail(t, run(t.Context(), io.Discard, io.Discard, []string{"-only", "nobody", dir}), "nobody")
}

// Every table and schema of the study is there.
func TestPopulations(t *testing.T) {
	t.Chdir("../..")
	for _, p := range populations() {
		for _, path := range []string{p.table, p.schema} {
			if path != "" {
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%s: %v", p.name, err)
				}
			}
		}
	}
}
