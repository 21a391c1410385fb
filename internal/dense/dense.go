// Package dense holds the small dense kernels of the samplers: triangular
// factors, solves, products and eigenvalues of matrices of dimension 2 to 80.
//
// Every matrix is a flat row-major slice with a stride equal to its number of
// columns; every result goes into a slice of the caller's, first in the list of
// arguments. Nothing allocates. A slice that is too short panics: shapes are
// the programmer's affair. What the data decide, such as a matrix that is not
// positive definite, is a result.
//
// Unless a docstring says otherwise, dst may not overlap the inputs.
package dense

// The kernels below are the inner loops of this package. Dot products of
// contiguous rows are taken two by two: each element loaded serves two
// products, and four independent sums hide the latency of addition, which a
// single running sum would wait for. Blocks of four rows were measured slower:
// their sums and products outgrow the registers.

// dot returns Σ a_k b_k over the elements of b; a is at least as long.
func dot(a, b []float64) float64 {
	a = a[:len(b)]
	var s, t float64
	k := 0
	for ; k+1 < len(b); k += 2 {
		s += a[k] * b[k]
		t += a[k+1] * b[k+1]
	}
	if k < len(b) {
		s += a[k] * b[k]
	}
	return s + t
}

// Dot returns Σ a_k b_k over the elements of a, one after the other; b is at least as long.
func Dot(a, b []float64) (sum float64) {
	for k, v := range a {
		sum += v * b[k]
	}
	return sum
}

// dot1x2 returns the products of a with rows 0 and 1 of b (stride ldb), over
// the first k elements.
func dot1x2(a, b []float64, ldb, k int) (s0, s1 float64) {
	a = a[:k]
	b0 := b[:len(a)]
	b1 := b[ldb:][:len(a)]
	for i, v := range a {
		s0 += v * b0[i]
		s1 += v * b1[i]
	}
	return
}

// dot2x2 returns the products of rows 0 and 1 of a (stride lda) with rows 0
// and 1 of b (stride ldb), over the first k elements; s01 is row 0 of a times
// row 1 of b.
func dot2x2(a []float64, lda int, b []float64, ldb, k int) (s00, s01, s10, s11 float64) {
	a0 := a[:k]
	a1 := a[lda:][:len(a0)]
	b0 := b[:len(a0)]
	b1 := b[ldb:][:len(a0)]
	for i, u := range a0 {
		v := a1[i]
		p, q := b0[i], b1[i]
		s00 += u * p
		s01 += u * q
		s10 += v * p
		s11 += v * q
	}
	return
}

// MulLowerVec writes L x into dst. Only the lower triangle of the n×n matrix l
// is read; dst and x have length n, and may be the same slice.
func MulLowerVec(dst, l []float64, n int, x []float64) {
	i := n - 1
	for ; i > 0; i -= 2 {
		a := l[(i-1)*n:]
		s0, s1 := dot1x2(x, a, n, i)
		dst[i-1], dst[i] = s0, s1+a[n+i]*x[i]
	}
	if i == 0 {
		dst[0] = l[0] * x[0]
	}
}

// MulLowerTVec writes Lᵀ x into dst. Only the lower triangle of the n×n matrix
// l is read; dst and x have length n, and may be the same slice.
func MulLowerTVec(dst, l []float64, n int, x []float64) {
	for i := range n {
		v := x[i]
		head := dst[:i]
		a := l[i*n:][:i+1]
		for k := range head {
			head[k] += a[k] * v
		}
		dst[i] = a[i] * v
	}
}

// SymMulVec writes A x into dst, for symmetric A of which only the lower
// triangle is read; dst and x have length n.
func SymMulVec(dst, a []float64, n int, x []float64) {
	for i := range n {
		v := x[i]
		row := a[i*n:][:i+1]
		head, y := dst[:i], x[:i]
		var s float64
		for k, r := range row[:i] {
			s += r * y[k]
			head[k] += r * v
		}
		dst[i] = s + row[i]*v
	}
}

// QuadForm returns xᵀ A x, for symmetric A of which only the lower triangle is
// read; x has length n.
func QuadForm(a []float64, n int, x []float64) float64 {
	var s float64
	for i := range n {
		row := a[i*n:][:i+1]
		s += x[i] * (row[i]*x[i] + 2*dot(row, x[:i]))
	}
	return s
}

// Symmetrise copies the strict lower triangle of the n×n matrix a onto the
// upper one.
func Symmetrise(a []float64, n int) {
	a = a[:n*n]
	for i := 1; i < n; i++ {
		row := a[i*n:][:i]
		m := i
		for _, v := range row {
			a[m] = v
			m += n
		}
	}
}

// LLt writes L Lᵀ, full and symmetric, into the n×n dst, by its lower triangle:
// Σ_{k≤j} l_ik l_jk for j ≤ i. Only the lower triangle of l is read.
func LLt(dst, l []float64, n int) {
	for i := range n {
		a := l[i*n:]
		d := dst[i*n:][:i+1]
		j := 0
		for ; j+1 < len(d); j += 2 {
			b := l[j*n:]
			s0, s1 := dot1x2(a, b, n, j+1)
			d[j], d[j+1] = s0, s1+a[j+1]*b[n+j+1]
		}
		if j < len(d) {
			d[j] = dot(a, l[j*n:][:j+1])
		}
	}
	Symmetrise(dst, n)
}

// MulABt writes A Bᵀ into dst: A is m×k, B n×k, dst m×n.
func MulABt(dst, a, b []float64, m, n, k int) {
	i := 0
	for ; i+1 < m; i += 2 {
		u, d := a[i*k:], dst[i*n:]
		j := 0
		for ; j+1 < n; j += 2 {
			d[j], d[j+1], d[n+j], d[n+j+1] = dot2x2(u, k, b[j*k:], k, k)
		}
		if j < n {
			d[j], d[n+j] = dot1x2(b[j*k:], u, k, k)
		}
	}
	if i < m {
		u, d := a[i*k:][:k], dst[i*n:]
		for j := range n {
			d[j] = dot(b[j*k:], u)
		}
	}
}
