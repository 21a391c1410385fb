package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// Bounds of every column. They are not symmetric, and the largest values of the pair lie
// outside, so that clamping and scaling are audited too: a value x in the data's
// units is (x + 1)/2 in scaled ones, after clamping.
const lower, upper = -3, 1

// side is one of the two neighbouring data sets.
type side struct {
	text string      // CSV, in the data's units
	rows [][]float64 // in scaled units
	sums []float64   // of them in the box: the statistics in scaled units, exact multiples of 2^-40; n before them where it has noise
}

// pair returns the two neighbouring data sets that are furthest apart, for which
// docs/sensitivity.md has the proofs. A row of zeros is common to both. The others:
//
//	replace-one, Laplace noise    (1, …, 1) and −(1, …, 1)/(m+1)
//	replace-one, Gaussian noise   (1, …, 1) and that with ⌊(m+1)/2⌋ signs turned
//	add-remove                    (1, …, 1) and no row
//
// Of several steps, where common rows are to say where the frame is, there are commonRows; the
// others are those of Gaussian noise, in the corners of the box, and are clipped in most frames.
func (a *Audit) pair() [2]side {
	m := a.Columns
	first, second := make([]float64, m), make([]float64, m)
	for j := range m {
		first[j], second[j] = 1, -1/float64(m+1)
		if a.Noise != release.Laplace {
			second[j] = 1
			if j < (m+1)/2 {
				second[j] = -1
			}
		}
	}
	common := [][]float64{make([]float64, m)}
	if a.Steps > 1 {
		common = cluster(m)
	}
	with := func(row []float64) side { return a.side(append(slices.Clip(common), row)...) }
	if a.counted() {
		return [2]side{with(first), a.side(common...)}
	}
	return [2]side{with(first), with(second)}
}

// commonRows is the number of rows that a pair has in common where it has many.
const commonRows = 1000

// cluster are common rows, narrow and tilted in the box.
func cluster(m int) (rows [][]float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range commonRows {
		row, before := make([]float64, m), 0.3
		for j := range row {
			before = 0.5*before + 0.12*rng.NormFloat64()
			row[j] = min(max(before, -1), 1)
		}
		rows = append(rows, row)
	}
	return rows
}

// counted tells whether n has noise.
func (a *Audit) counted() bool { return a.Privacy.Neighbours == release.AddRemove }

// side writes rows, given in scaled units, and sums them.
func (a *Audit) side(rows ...[]float64) side {
	m := a.Columns
	var s side
	for _, column := range a.design().Columns() {
		s.text += column.Name + ","
	}
	s.text = strings.TrimSuffix(s.text, ",") + "\n"
	sums := make([]float64, release.Length(m))
	for _, row := range rows {
		cells := make([]string, m)
		v := make([]float64, m)
		s.rows = append(s.rows, v)
		for j, x := range row {
			v[j] = math.Floor(x*lattice+0.5) / lattice
			cells[j] = strconv.FormatFloat(outside(2*x-1), 'g', -1, 64)
		}
		s.text += strings.Join(cells, ",") + "\n"
		addSums(sums, v)
	}
	if a.counted() {
		s.sums = append(s.sums, float64(len(rows)))
	}
	s.sums = append(s.sums, sums...)
	return s
}

// addSums adds a row to sums in canonical order.
func addSums(sums, v []float64) {
	m := len(v)
	for j := range m {
		sums[j] += v[j]
		for k := j; k < m; k++ {
			sums[release.Index(m, j, k)] += float64(v[j] * v[k])
		}
	}
}

// lattice is the number of values that a scaled value of 1 has below it.
const lattice = 1 << ssp.LatticeBits

// outside moves a value on a bound beyond it.
func outside(x float64) float64 {
	switch x {
	case lower:
		return lower - 2
	case upper:
		return upper + 2
	}
	return x
}

// design has the columns of the pair.
func (a *Audit) design() *schema.Design {
	d := dpreg.UnitDesign(a.Columns - 1)
	d.Response.Lower, d.Response.Upper = lower, upper
	for j := range d.Covariates {
		d.Covariates[j].Lower, d.Covariates[j].Upper = lower, upper
	}
	return d
}
