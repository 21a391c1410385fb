// Package golden compares what tests compute with the files that hold it.
package golden

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Compare reports the lines in which got differs from the file at path: - those of the file
// alone, + those of got alone. With update it writes the file anew.
func Compare(t testing.TB, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	before, after := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	t.Errorf("%s: what is computed differs, if only in its order (-update writes it anew where that is meant):\n%s%s", path, only("-", before, after), only("+", after, before))
}

// only writes the lines that are not among the others, each behind a mark.
func only(mark string, lines, others []string) string {
	var b strings.Builder
	for _, line := range lines {
		if !slices.Contains(others, line) {
			b.WriteString(mark + " " + line + "\n")
		}
	}
	return b.String()
}
