package model

import (
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Units is the affine map from common scaled units to those in which the noise of one release
// is independent from entry to entry, its own,
//
//	v_own = A v + b,   A lower triangular, A_ii > 0,
//
// and its inverse. From box to box A is diagonal, and b = 0 without an intercept; in a frame A
// is W times that. It is kept as K = [1 0; b A], so that of B = Σ(1, v)(1, v)ᵀ
//
//	B_own = K B Kᵀ,
//
// and of a scatter DDᵀ, D lower triangular, the own factor is AD.
type Units struct {
	k []float64 // K, (m+1)×(m+1)
	m int
}

// NewUnits returns the map of a (m×m) and b (m), which it copies.
func NewUnits(a, b []float64) *Units {
	m := len(b)
	u := &Units{make([]float64, (m+1)*(m+1)), m}
	u.k[0] = 1
	for i := range m {
		row := u.k[(i+1)*(m+1):]
		row[0] = b[i]
		copy(row[1:i+2], a[i*m:])
	}
	return u
}

// UnitsBetween returns the map from the scaled units of one box to those of another, of the
// same columns in the same order.
func UnitsBetween(common, own schema.Frame) *Units {
	m := len(own.Half)
	a, b := make([]float64, m*m), make([]float64, m)
	for j := range m {
		a[j*m+j] = common.Half[j] / own.Half[j]
		b[j] = (common.Centre[j] - own.Centre[j]) / own.Half[j]
	}
	return NewUnits(a, b)
}

// Identity is the map of m columns that changes nothing.
func Identity(m int) *Units {
	u := &Units{make([]float64, (m+1)*(m+1)), m}
	for i := range m + 1 {
		u.k[i*(m+1)+i] = 1
	}
	return u
}

// In returns the map on from the release's box to a frame, u = W(v − c); the map itself where
// there is none.
func (u *Units) In(f *release.Frame) *Units {
	if f == nil {
		return u
	}
	m := u.m
	out := &Units{make([]float64, (m+1)*(m+1)), m}
	out.k[0] = 1
	for i, w := range f.Matrix {
		row := out.k[(i+1)*(m+1) : (i+2)*(m+1)]
		for h, v := range w {
			row[0] -= v * f.Centre[h]
			floats.AddScaled(row, v, u.k[(h+1)*(m+1):(h+2)*(m+1)])
		}
	}
	return out
}

// Inverse returns the map back.
func (u *Units) Inverse() *Units {
	n := u.m + 1
	out := &Units{make([]float64, n*n), u.m}
	dense.InvertLower(out.k, u.k, n)
	return out
}

// Matrix is K, row by row.
func (u *Units) Matrix() []float64 { return u.k }

// Row is that of A for column i, up to its diagonal, and its entry of b.
func (u *Units) Row(i int) (a []float64, b float64) {
	row := u.k[(i+1)*(u.m+1):]
	return row[1 : i+2], row[0]
}

// Scale is what one unit of column i, those before it held, is in own ones.
func (u *Units) Scale(i int) float64 { return u.k[(i+1)*(u.m+1)+i+1] }

// Shift is b_i.
func (u *Units) Shift(i int) float64 { return u.k[(i+1)*(u.m+1)] }

// Mean takes a mean to own units.
func (u *Units) Mean(x []float64) {
	for i := u.m - 1; i >= 0; i-- {
		a, b := u.Row(i)
		v := a[i] * x[i]
		for h, w := range a[:i] {
			v += w * x[h]
		}
		x[i] = v + b
	}
}

// PullMean takes the gradient in a mean from own units to common ones.
func (u *Units) PullMean(g []float64) {
	for i, v := range g {
		a, _ := u.Row(i)
		g[i] = v * a[i]
		for h, w := range a[:i] {
			g[h] += w * v
		}
	}
}

// Factor takes D, m×m lower triangular, to AD.
func (u *Units) Factor(d []float64) {
	m := u.m
	for i := m - 1; i >= 0; i-- {
		a, _ := u.Row(i)
		row := d[i*m : i*m+i+1]
		floats.Scale(a[i], row)
		for h, v := range a[:i] {
			if v != 0 {
				floats.AddScaled(row[:h+1], v, d[h*m:h*m+h+1])
			}
		}
	}
}

// PullFactor takes the gradient in AD to that in D, lower triangles.
func (u *Units) PullFactor(g []float64) {
	m := u.m
	for i := range m {
		a, _ := u.Row(i)
		row := g[i*m : i*m+i+1]
		for h, v := range a[:i] {
			if v != 0 {
				floats.AddScaled(g[h*m:h*m+h+1], v, row[:h+1])
			}
		}
		floats.Scale(a[i], row)
	}
}

// Moments takes the mean (m) and covariance (m×m, symmetric) of rows from common units to the
// release's, in place.
func (u *Units) Moments(mean, cov []float64) {
	u.Mean(mean)
	for range 2 {
		for i := u.m - 1; i >= 0; i-- {
			a, _ := u.Row(i)
			combine(cov, u.m, i, a)
		}
		dense.Transpose(cov, u.m)
	}
}

// combine makes row i of a n×n matrix the sum of those up to it with weights w.
func combine(a []float64, n, i int, w []float64) {
	row := a[i*n : (i+1)*n]
	floats.Scale(w[i], row)
	for h, v := range w[:i] {
		if v != 0 {
			floats.AddScaled(row, v, a[h*n:(h+1)*n])
		}
	}
}

// Common takes statistics of n rows, canonical order, from the release's units to
// common ones; dst may be s. It takes off b, and then columns in turn, as forward substitution does.
func (u *Units) Common(dst, s []float64, n float64) {
	copy(dst, s)
	m, at := u.m, u.m
	for j := range m {
		for k := j; k < m; k++ {
			bj, bk := u.Shift(j), u.Shift(k)
			dst[at] -= bj*dst[k] + bk*dst[j] - n*bj*bk
			at++
		}
	}
	for i := range m {
		a, b := u.Row(i)
		dst[i] -= n * b
		last := release.Index(m, i, i)
		for h, w := range a[:i] {
			dst[i] -= w * dst[h]
			dst[last] -= w * dst[release.Index(m, h, i)]
		}
		dst[i] /= a[i]
		for j := range m {
			if j == i {
				continue
			}
			to := release.Index(m, i, j)
			for h, w := range a[:i] {
				dst[to] -= w * dst[release.Index(m, h, j)]
			}
		}
		for h, w := range a[:i] {
			dst[last] -= w * dst[release.Index(m, i, h)]
		}
		for j := range m {
			dst[release.Index(m, i, j)] /= a[i]
		}
		dst[last] /= a[i]
	}
}
