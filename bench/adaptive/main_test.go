package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// A study runs; the same one says the same; and only what can be done is.
func TestRun(t *testing.T) {
	t.Chdir("../..")
	var pooled bytes.Buffer
	if err := run(t.Context(), &pooled, io.Discard, strings.Fields("-only diabetes -trials 1 -steps 2 -pool 3 -chains 1 -draws 100")); err != nil || !strings.Contains(pooled.String(), "| 1 → 2 |") {
		t.Errorf("%v\n%s", err, &pooled)
	}
	var texts [2]string
	for i := range texts {
		var stdout bytes.Buffer
		must.Do(t, run(t.Context(), &stdout, io.Discard, strings.Fields("-only diabetes -trials 2 -steps 2 -chains 1 -draws 100 -resample -method mcmc-exact")))
		_, texts[i], _ = strings.Cut(stdout.String(), "\nε = ")
		if n := strings.Count(stdout.String(), "\ndiabetes,"); n != 2*2*3 || !strings.Contains(texts[i], "\n| diabetes | 442 | 1 → 2 | 2 | ÷ ") {
			t.Errorf("%d lines of slopes:\n%s", n, &stdout)
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("%s\nand then\n%s", texts[0], texts[1])
	}
	var levels bytes.Buffer
	if err := run(t.Context(), &levels, io.Discard, strings.Fields("-only abalone-sex -trials 1 -by-level one -chains 1 -draws 100 -delta 0")); err != nil ||
		!strings.Contains(levels.String(), "| abalone-sex, slopes | 4177 | 1 → 4 |") || !strings.Contains(levels.String(), "| abalone-sex, levels | 4177 |") {
		t.Errorf("%v\n%s", err, &levels)
	}
	for _, args := range []string{"-only red -by-level one", "-by-level colour", "-only nobody", "-only red,red", "-trials 0", "-steps 1", "-wide 0", "-only red -column 5", "-column -1", "stray", "-method nobody"} {
		if err := run(t.Context(), io.Discard, io.Discard, strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
