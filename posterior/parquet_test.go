package posterior

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// labelled are draws under names that CSV and Parquet have to keep as they are.
func labelled() *Draws {
	return &Draws{
		Names:  []string{"theta[0]", "theta[1]", "tau[1,1]", "sigma"},
		Labels: []string{"(Intercept)", "a \"b\", c", "var(a \"b\", c)", "sigma"},
		Chains: [][]float64{{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, math.Inf(1), 1e-300}},
	}
}

// A table of draws has them all, chain after chain, under their labels.
func TestParquet(t *testing.T) {
	d := labelled()
	var file bytes.Buffer
	if err := d.WriteParquet(&file); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range f.Root().Columns() {
		names = append(names, c.Name())
	}
	if want := append([]string{".chain", ".iteration", ".draw"}, d.Labels...); !slices.Equal(names, want) {
		t.Errorf("columns %q, want %q", names, want)
	}
	rows := make([]parquet.Row, 9)
	n, _ := parquet.NewReader(f).ReadRows(rows)
	if n != 4 {
		t.Fatalf("%d rows", n)
	}
	for i, row := range rows[:n] {
		if row[0].Int32() != int32(i/2+1) || row[1].Int32() != int32(i%2+1) || row[2].Int32() != int32(i+1) {
			t.Errorf("row %d is numbered %v", i, row[:3])
		}
		for j := range d.Names {
			if got, want := row[3+j].Double(), d.Chains[i/2][i%2*4+j]; got != want {
				t.Errorf("row %d, %s: %v, want %v", i, names[3+j], got, want)
			}
		}
	}
}

// A file whose columns have labels is read as one with Stan's names.
func TestLabels(t *testing.T) {
	d := labelled()
	var file bytes.Buffer
	if err := d.WriteStanCSV(&file, 1, StanLabels(d.Names, d.Labels)); err != nil {
		t.Fatal(err)
	}
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
