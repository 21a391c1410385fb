package release

import "fmt"

// Statistics are the noisy sums over the rows, in scaled units: with
// v = (x_1..x_p, y) in [-1,1]^m, m = p+1, they are Σx_j, Σx_j x_k, Σy, Σx_j y
// and Σy². SumX and SumXY have length p, SumXX is p×p and symmetric, written
// whole. SumYY is nil, and null in the file, where the release withholds it.
type Statistics struct {
	SumX  []float64   `json:"sum_x"`
	SumXX [][]float64 `json:"sum_xx"`
	SumY  float64     `json:"sum_y"`
	SumXY []float64   `json:"sum_xy"`
	SumYY *float64    `json:"sum_yy"`
}

// Length is m + m(m+1)/2, the length of the canonical vector of m columns.
func Length(m int) int { return m + m*(m+1)/2 }

// Index is the position of Σ v_j v_k (0-based j and k, in either order) in the
// canonical vector of m columns; the linear sum Σ v_j stands at position j.
// It panics if j or k is not in 0..m-1.
//
// The quadratic sums follow the m linear ones, the upper triangle row by row;
// row j starts after the j rows before it, of lengths m, m-1, ...
func Index(m, j, k int) int {
	if j > k {
		j, k = k, j
	}
	if j < 0 || k >= m {
		panic(fmt.Sprintf("release: pair (%d, %d) of %d columns", j, k, m))
	}
	return m + j*m - j*(j-1)/2 + k - j
}

// Vector is the canonical vector of length Length(m): the linear sums in the
// order of v, then Σ v_j v_k for j = 1..m, k = j..m. Σy² is the last, and the
// vector is shorter by one where that is withheld. It panics if the blocks
// do not fit each other: Release.Validate finds that first.
func (s *Statistics) Vector() []float64 {
	p := len(s.SumX)
	if len(s.SumXX) != p || len(s.SumXY) != p {
		panic("release: statistics of unequal sizes")
	}
	m := p + 1
	v := make([]float64, 0, Length(m))
	v = append(v, s.SumX...)
	v = append(v, s.SumY)
	for j := range p {
		v = append(v, s.SumXX[j][j:p]...)
		v = append(v, s.SumXY[j])
	}
	if s.SumYY == nil {
		return v
	}
	return append(v, *s.SumYY)
}

// StatisticsFromVector is the inverse of Vector; the result shares nothing
// with v. It panics if v has not length Length(m), or one less.
func StatisticsFromVector(m int, v []float64) Statistics {
	withheld := len(v) == Length(m)-1
	if m < 1 || len(v) != Length(m) && !withheld {
		panic(fmt.Sprintf("release: a vector of length %d for %d columns", len(v), m))
	}
	p := m - 1
	s := Statistics{
		SumX:  append([]float64{}, v[:p]...),
		SumXX: make([][]float64, p),
		SumY:  v[p],
		SumXY: make([]float64, p),
	}
	if !withheld {
		yy := v[len(v)-1]
		s.SumYY = &yy
	}
	for j := range p {
		s.SumXX[j] = make([]float64, p)
		for k := range p {
			s.SumXX[j][k] = v[Index(m, j, k)]
		}
		s.SumXY[j] = v[Index(m, j, p)]
	}
	return s
}
