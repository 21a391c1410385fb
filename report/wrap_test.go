package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFold: whatever the width, no line is longer, and nothing of a name but blanks is
// lost, so that names that differ stay apart.
func TestFold(t *testing.T) {
	names := []string{"", "(Intercept)", "ocean_proximity[INLAND]", "ocean_proximity[ISLAND]", "ocean_proximity[NEAR BAY]", "ocean_proximity[NEAR OCEAN]",
		"cov(housing_median_age, total_bedrooms)", "spread((Intercept))", "educ @ /home/x/north.release.json", "a:b:c", "größe×größe", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301",
		strings.Repeat("x", 60) + "1", strings.Repeat("x", 60) + "2", "收入与教育程度的关系", "  ", "a  b   c    d"}
	bare := strings.NewReplacer(" ", "", "\n", "")
	for n := 2; n <= 80; n++ {
		seen := make(map[string]string)
		for _, name := range names {
			got := fold(name, n)
			for i, line := range strings.Split(got, "\n") {
				if utf8.RuneCountInString(line) > n || i > 0 && !strings.HasPrefix(line, " ") {
					t.Errorf("%q in lines of %d: %q", name, n, got)
				}
			}
			if bare.Replace(got) != bare.Replace(name) {
				t.Errorf("%q in lines of %d loses something: %q", name, n, got)
			}
			if other, ok := seen[got]; ok && bare.Replace(other) != bare.Replace(name) {
				t.Errorf("%q and %q in lines of %d are both %q", name, other, n, got)
			}
			seen[got] = name
		}
	}
	for name, want := range map[string]string{"ocean_proximity[INLAND]": "ocean_\n proximity\n [INLAND]", "ocean_proximityINLAND": "ocean_\n proximity\n INLAND"} {
		if got := fold(name, 11); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
