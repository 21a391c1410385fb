package model

import (
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Shape says how large the regression is: P covariates, and whether θ has an
// intercept.
type Shape struct {
	P         int
	Intercept bool

	// Coding is that of release.Levels, of several factors; else nil.
	Coding [][]float64
}

// DesignShape is that of a design's regression.
func DesignShape(d *schema.Design) Shape { return Shape{P: len(d.Covariates), Intercept: d.Intercept} }

// Has tells whether column c of a factor is 1 in a level, where it is not −1.
func (s Shape) Has(level, c int) bool {
	if s.Coding != nil {
		return s.Coding[level][c] > 0
	}
	return c == level-1
}

// Sign is what column c of a factor is in a level, ±1.
func (s Shape) Sign(level, c int) float64 {
	if s.Has(level, c) {
		return 1
	}
	return -1
}

// Levels are those of a factor of k columns.
func (s Shape) Levels(k int) int {
	if s.Coding != nil {
		return len(s.Coding)
	}
	return k + 1
}

// CellsToOriginal takes Params.Cells to the units of data, dst and src being of one length, or the same.
func (s Shape) CellsToOriginal(f *schema.Frame, dst, src []float64) {
	if copy(dst, src); s.Coding == nil {
		return
	}
	k := len(s.Coding[0])
	for i, v := range src[len(s.Coding):] {
		j := k + i%(s.P-k)
		dst[len(s.Coding)+i] = f.Centre[j] + f.Half[j]*v
	}
}

// InCells counts shares of the levels that Coding has, and the levels' means of the other covariates.
func (s Shape) InCells() int {
	if s.Coding == nil {
		return 0
	}
	return len(s.Coding) * (1 + s.P - len(s.Coding[0]))
}

// M is the length of v = (x₁…x_p, y).
func (s Shape) M() int { return s.P + 1 }

// Q is the length of θ.
func (s Shape) Q() int { return s.P + s.first() }

// first is the index in θ of the first slope: 1 with an intercept, else 0.
func (s Shape) first() int { return number.Indicator[int](s.Intercept) }

// Statistics is the length of s: m linear and m(m+1)/2 quadratic sums.
func (s Shape) Statistics() int { return release.Length(s.M()) }

// First is the index of the first coefficient, 0 for an intercept.
func (s Shape) First() int { return 1 - s.first() }
