package report

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// many are so many custodians, of which the last has other noise.
func many(count int) *dpreg.Fit {
	f := &dpreg.Fit{}
	for j := range count {
		r := &release.Release{N: int64(100 + j), Privacy: &release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}, Noise: release.Noise{Kind: release.Gaussian, Scale: 5}}
		if j == count-1 {
			r.Noise.Scale = 7
		}
		f.Custodians = append(f.Custodians, dpreg.Custodian{Name: fmt.Sprintf("%d.json", j+1), Release: r})
	}
	return f
}

func TestManyCustodiansShareARow(t *testing.T) {
	if rows := custodiansTable(many(mostCustodians)).Rows; len(rows) != mostCustodians {
		t.Errorf("%d rows of %d custodians", len(rows), mostCustodians)
	}
	want := [][]string{
		{"99 releases", "100 to 198", "1", "0", "replace-one", "gaussian", "5"},
		{"100.json", "199", "1", "0", "replace-one", "gaussian", "7"},
	}
	if rows := custodiansTable(many(100)).Rows; !reflect.DeepEqual(rows, want) {
		t.Errorf("rows %q, not %q", rows, want)
	}
}

// TestManyCustodiansCoefficients: of many custodians the table has the lowest and the
// highest coefficient, and says so.
func TestManyCustodiansCoefficients(t *testing.T) {
	coefficients := func(count int) *posterior.Summary {
		s := &posterior.Summary{Level: 0.95, Parameters: []posterior.Parameter{{Name: "theta[0]", Label: "(Intercept)"}, {Name: "spread[0]", Label: "spread"}}}
		for j := 1; j <= count; j++ {
			for k := range 2 {
				mean := float64((j*7 + k) % count) // 0 where 7j is, or follows, a multiple
				s.Parameters = append(s.Parameters, posterior.Parameter{Name: fmt.Sprintf("theta_at[%d,%d]", j, k), Label: fmt.Sprintf("%d of %d", k, j), Mean: mean, SD: 1})
			}
		}
		return s
	}
	labels := func(s *posterior.Summary, all bool) (first []string) {
		for _, row := range summaryTable(s, all, Options{Width: width, Digits: usualDigits}).Rows {
			first = append(first, row[0])
		}
		return first
	}
	s := coefficients(100)
	if got, want := labels(s, false), []string{"(Intercept)", "spread", "1 of 14", "0 of 57", "1 of 57", "0 of 100"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the table has %q, not %q", got, want)
	}
	if len(labels(s, true)) != 202 || leftOut(s) == "" {
		t.Error("all are not all, or what is left out goes unsaid")
	}
	if few := coefficients(mostCustodians); len(labels(few, false)) != 2+2*mostCustodians || leftOut(few) != "" {
		t.Error("custodians that have room are left out")
	}
}
