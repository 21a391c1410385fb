package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// The grid of frames. A centre is on the lattice of rows. With 2^x the power of two that
// holds the largest entry of a row of the matrix, x ≤ steepest, all entries of the row are
// multiples of 2^(x−frameBits), frameBits digits in all. A radius is from 2^leastRadius to
// 2^mostRadius.
const (
	frameBits   = 22
	steepest    = 20
	leastRadius = -10
	mostRadius  = LatticeBits
)

// Ball takes rows to a frame in integers: u = W(v − c). It is safe for concurrent use; what
// it makes is not.
//
// With v and c in units of 2⁻²⁰ and row j of W in units of 2^(−e_j), the integers are at
// most 2²¹ and 2²² in magnitude, so that for m ≤ 1000 < 2¹⁰ columns
//
//	Σ_i |W_ji (v_i − c_i)| < 2⁵³
//
// in units of 2^(−e_j−20): a float64 holds it, exactly, and every part of the sum. Each u_j is
// then rounded once, to the nearest multiple of a unit that all have.
type Ball struct {
	frame  release.Frame
	centre []float64 // in units of 2^-20
	matrix []float64 // m×m, lower triangular; row j in units of 2^(-digits[j])
	digits []int     // e_j
}

// RoundFrame returns f on the grid of NewBall: the centre moved into the box, a row of the
// matrix that is too steep flattened, a radius (unless it is 0, not chosen yet) brought to
// the ends of its range, and all rounded. It is what is written and what rows are taken to;
// a frame on the grid stays as it is. It shares nothing with f.
func RoundFrame(f *release.Frame) *release.Frame {
	g := *f
	g.Centre, g.Matrix = slices.Clone(f.Centre), make([][]float64, len(f.Matrix))
	for j, c := range f.Centre {
		g.Centre[j] = math.RoundToEven(min(max(c, -1), 1)*unit) / unit
	}
	for j, row := range f.Matrix {
		g.Matrix[j] = roundRow(row)
	}
	if f.Radius != 0 {
		g.Radius, g.Weight = onGrid(f.Radius), onGrid(f.Weight)
	}
	return &g
}

// onGrid brings a radius or a weight into the range that both have.
func onGrid(x float64) float64 {
	return min(max(x, math.Ldexp(1, leastRadius)), math.Ldexp(1, mostRadius))
}

// roundRow rounds a row of a matrix. Its last entry, on the diagonal, stays above 0.
func roundRow(row []float64) []float64 {
	x := rowExponent(row)
	to := min(x, steepest) - frameBits
	rounded := make([]float64, len(row))
	for i, w := range row {
		a := math.RoundToEven(math.Ldexp(w, frameBits-x))
		if i == len(row)-1 {
			a = max(a, 1)
		}
		rounded[i] = math.Ldexp(a, to)
	}
	return rounded
}

// rowExponent is the least x with all entries of a row within ±2^x.
func rowExponent(row []float64) int { return ceilLog2(largest(row)) }

func largest(row []float64) (magnitude float64) {
	for _, w := range row {
		magnitude = max(magnitude, math.Abs(w))
	}
	return magnitude
}

// ceilLog2 is the least b with 2^b ≥ x > 0.
func ceilLog2(x float64) int {
	f, b := math.Frexp(x)
	if f == 0.5 {
		b--
	}
	return b
}

// NewBall returns the map of rows of m values to a frame; nil stands for the box as a
// frame: centre 0, W = I, radius √m, κ = 1. Errors: a frame of another size, one
// that RoundFrame changes or that is not finite, m not in 1 … schema.MaxColumns.
func NewBall(f *release.Frame, m int) (*Ball, error) {
	if m < 1 || m > schema.MaxColumns {
		return nil, fmt.Errorf("a frame of %d columns: from 1 to %d are possible", m, schema.MaxColumns)
	}
	if f == nil {
		f = boxFrame(m)
	}
	if err := checkFrame(f, m); err != nil {
		return nil, err
	}
	b := &Ball{frame: *RoundFrame(f), centre: make([]float64, m), matrix: make([]float64, m*m), digits: make([]int, m)}
	for j, row := range b.frame.Matrix {
		b.centre[j] = b.frame.Centre[j] * unit
		b.digits[j] = frameBits - rowExponent(row)
		for i, w := range row {
			b.matrix[j*m+i] = math.Ldexp(w, b.digits[j])
		}
	}
	return b, nil
}

func boxFrame(m int) *release.Frame {
	return (&release.Frame{Radius: rootUp(big.NewRat(int64(m), 1)), Weight: 1}).Behind(m)
}

func checkFrame(f *release.Frame, m int) error {
	if len(f.Centre) != m || len(f.Matrix) != m {
		return fmt.Errorf("the frame has a centre of %d numbers and a matrix of %d rows for %d columns", len(f.Centre), len(f.Matrix), m)
	}
	for j, row := range f.Matrix {
		if len(row) != j+1 {
			return fmt.Errorf("row %d of the frame's matrix has %d numbers: below a diagonal it has %d", j+1, len(row), j+1)
		}
		if !(largest(row) <= 1<<steepest) {
			return fmt.Errorf("row %d of the frame's matrix has an entry that is no number up to 2^%d", j+1, steepest)
		}
	}
	if !sameFrame(f, RoundFrame(f)) {
		return errors.New("the frame is off its grid")
	}
	return nil
}

// sameFrame tells whether rows go to the same places in both.
func sameFrame(f, g *release.Frame) bool {
	return slices.Equal(f.Centre, g.Centre) && slices.EqualFunc(f.Matrix, g.Matrix, slices.Equal) && f.Radius == g.Radius
}

// Dim is m, the length of a row.
func (b *Ball) Dim() int { return len(b.centre) }

// reach is for each coordinate the largest |u_j| in the box, attained at a corner, in units
// of 2^(−e_j−20): an integer.
func (b *Ball) reach() []float64 {
	m := b.Dim()
	reach := make([]float64, m)
	for j := range reach {
		for i, a := range b.matrix[j*m : j*m+j+1] {
			reach[j] += float64(math.Abs(a) * (unit + math.Abs(b.centre[i])))
		}
	}
	return reach
}
