package pvi

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/vi"
)

// errEmpty is of a client that would only add noise.
var errEmpty = errors.New("a client without data: leave it out, or give it records")

// checkRows tells whether there are rows, which fit together and are finite.
func checkRows(rows *vi.Rows) error {
	if len(rows.Y) == 0 {
		return errEmpty
	}
	if rows.P < 1 || len(rows.X) != rows.P*len(rows.Y) {
		return fmt.Errorf("%d entries of X for %d responses and %d covariates", len(rows.X), len(rows.Y), rows.P)
	}
	for _, values := range [][]float64{rows.X, rows.Y} {
		for i, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("row %d is not finite", i*len(rows.Y)/len(values)+1)
			}
		}
	}
	return nil
}

// sparse is rows without their zeros.
type sparse struct {
	start []int // of each row, and the end of the last
	index []int
	value []float64
}

func newSparse(rows Likelihood) *sparse {
	s := &sparse{start: []int{0}}
	for i := range rows.Len() {
		for j, v := range rows.Covariates(i) {
			if v != 0 {
				s.index, s.value = append(s.index, j), append(s.value, v)
			}
		}
		s.start = append(s.start, len(s.index))
	}
	return s
}

func (s *sparse) row(i int) (index []int, value []float64) {
	return s.index[s.start[i]:s.start[i+1]], s.value[s.start[i]:s.start[i+1]]
}
