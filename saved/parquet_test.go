package saved

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/posterior"
)

// A table of draws has them all, chain after chain, under their labels.
func TestParquet(t *testing.T) {
	d := &posterior.Draws{
		Names:  []string{"theta[0]", "theta[1]", "tau[1,1]", "sigma"},
		Labels: []string{"(Intercept)", "a \"b\", c", "var(a \"b\", c)", "sigma"},
		Chains: [][]float64{{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, math.Inf(1), 1e-300}},
	}
	var file bytes.Buffer
	must.Do(t, WriteParquet(&file, d))
	f := must.Get(parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
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
