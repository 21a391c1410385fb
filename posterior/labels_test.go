package posterior

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// labelled are draws under names that CSV has to keep as they are.
func labelled() *Draws {
	return &Draws{
		Names:  []string{"theta[0]", "theta[1]", "tau[1,1]", "sigma"},
		Labels: []string{"(Intercept)", "a \"b\", c", "var(a \"b\", c)", "sigma"},
		Chains: [][]float64{{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, math.Inf(1), 1e-300}},
	}
}

// A file whose columns have labels is read as one with Stan's names.
func TestLabels(t *testing.T) {
	d := labelled()
	var file bytes.Buffer
	must.Do(t, d.WriteStanCSV(&file, 1, StanLabels(d.Names, d.Labels)))
	if want := "\n(Intercept),\"a \"\"b\"\", c\",\"var(a \"\"b\"\", c)\",sigma\n"; !strings.Contains(file.String(), want) {
		t.Errorf("the header is not %q:\n%s", want, &file)
	}
	got, _, err := ReadStanCSV(&file, "x")
	if err != nil || !slices.Equal(got.Names, []string{"theta[1]", "theta[2]", "tau[1,1]", "sigma"}) || !slices.Equal(got.Chains[0], d.Chains[1]) {
		t.Errorf("%v: %+v", err, got)
	}
}

// Labels that would stand twice give way to names that do not.
func TestDistinct(t *testing.T) {
	got := Distinct([]string{"theta[0]", "theta[1]", "theta[2]", "sigma"}, []string{"(Intercept)", "sigma", "theta.2", "sigma"})
	if want := []string{"(Intercept)", "theta.2", "theta.3", "sigma"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
