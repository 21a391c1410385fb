package ssp

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/release"
)

// testFrame has a centre in the box, a matrix of about this diagonal with entries below it
// of the same size, and the radius √m.
func testFrame(rng *rand.Rand, m int, steep float64) *release.Frame {
	f := boxFrame(m)
	for j, row := range f.Matrix {
		f.Centre[j] = 0.1 * (2*rng.Float64() - 1)
		for i := range row {
			row[i] = steep * (2*rng.Float64() - 1) / math.Sqrt(float64(m))
		}
		row[j] = steep * (0.5 + rng.Float64())
	}
	return f
}

// normalRows have independent columns of this standard deviation, within the box.
func normalRows(rng *rand.Rand, n, m int, sd float64) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, m)
		for j := range rows[i] {
			rows[i][j] = max(-1, min(1, sd*rng.NormFloat64()))
		}
	}
	return rows
}
