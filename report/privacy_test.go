package report_test

import (
	"io"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
)

// The page has whom, what and what composes, of rows and of persons; of what is taken on trust it says
// that nothing can be said.
func TestPrivacyStatement(t *testing.T) {
	persons := made()
	persons.Privacy = &release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.AddRemove}
	persons.Noise = release.Noise{Kind: release.Gaussian, Scale: 60, Sensitivity: 4}
	persons.NNoise, persons.Persons = 60, &release.Persons{Rows: release.PersonRows, Most: 3, More: 12, Scale: 20, Epsilon: 0.05}
	trusted := made()
	trusted.Noise.Sensitivity = 0
	wantNarrow(t, golden(t, "privacy", each([]*release.Release{made(), persons, trusted}, "\n", func(w io.Writer, r *release.Release) error {
		return report.PrivacyStatement(w, r, "people.release.json", strings.Repeat("5b1f", 16))
	})))
}

// What noise makes of a count of few is said as the count that it can be.
func TestNoisyCountOfPersons(t *testing.T) {
	r := made()
	r.Privacy = &release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.AddRemove}
	r.Noise = release.Noise{Kind: release.Gaussian, Scale: 60, Sensitivity: 4}
	r.NNoise, r.Persons = 60, &release.Persons{Rows: release.PersonRows, Most: 3, More: -86, Scale: 80, Epsilon: 0.05}
	var text strings.Builder
	if err := report.Statement(&text, r); err != nil || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "about 0 persons had more") {
		t.Errorf("of -86 persons it says %s (%v)", text.String(), err)
	}
}
