package dense

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// vectorFrom is the dimension from which gonum's matrix-vector product, which
// has vector instructions behind it on amd64, beats the scalar kernels.
const vectorFrom = 14

// Cholesky factors a symmetric positive definite matrix, A = L Lᵀ, in place.
//
// l is n×n; only its lower triangle is read and written. It reports whether A
// is positive definite in floating point: false as soon as a pivot is not
// greater than zero, or not finite, and l is then partly overwritten.
//
// Left-looking: with the first j columns of L done, column j is, for i ≥ j,
//
//	c_i = a_ij − Σ_{k<j} l_ik l_jk,   l_jj = √c_j,   l_ij = c_i/l_jj
//
// (Golub & Van Loan, Matrix Computations, 4th ed., algorithm 4.2.1).
func Cholesky(l []float64, n int) bool {
	if n >= vectorFrom {
		return choleskyColumns(l[:n*n], n)
	}
	if n == 5 && cholesky5(l) {
		return true
	}
	return choleskyPairs(l[:n*n], n)
}

// choleskyColumns takes one column at a time, by a matrix-vector product.
func choleskyColumns(l []float64, n int) bool {
	var f gonum.Implementation
	for j := range n {
		b := l[j*n:]
		f.Dgemv(blas.NoTrans, n-j, j, -1, b, n, b[:j], 1, 1, b[j:], n)
		p, r, ok := pivot(b[j])
		if !ok {
			return false
		}
		b[j] = p
		for i := n + j; i < len(b); i += n {
			b[i] *= r
		}
	}
	return true
}

// choleskyPairs takes two columns at a time. With c and d the columns j and
// j+1 of the reduced matrix,
//
//	l_ij = c_i/l_jj,   l_i,j+1 = (d_i − l_ij l_j+1,j)/l_j+1,j+1.
func choleskyPairs(l []float64, n int) bool {
	j := 0
	for ; j+1 < n; j += 2 {
		b := l[j*n:]
		var s00, s10, s11 float64
		if j > 0 { // the sums of the first pair are empty: at small n the calls would tell
			s00, _, s10, s11 = dot2x2(b, n, b, n, j)
		}
		p, r, ok := pivot(b[j] - s00)
		if !ok {
			return false
		}
		x := (b[n+j] - s10) * r
		q, s, ok := pivot(b[n+j+1] - s11 - x*x)
		if !ok {
			return false
		}
		b[j], b[n+j], b[n+j+1] = p, x, q
		panel(l, n, j, r, x, s)
	}
	if j < n {
		b := l[j*n:]
		p, _, ok := pivot(b[j] - dot(b, b[:j]))
		b[j] = p
		return ok
	}
	return true
}

// panel finishes columns j and j+1 below their diagonal block: r and s are the
// reciprocals of l_jj and l_j+1,j+1, and x is l_j+1,j.
func panel(l []float64, n, j int, r, x, s float64) {
	b := l[j*n:]
	if j == 0 {
		for i := 2 * n; i < len(l); i += n {
			eliminate(l[i:i+2], 0, 0, r, x, s)
		}
		return
	}
	i := j + 2
	for ; i+1 < n; i += 2 {
		a := l[i*n:]
		s00, s01, s10, s11 := dot2x2(a, n, b, n, j)
		eliminate(a[j:j+2], s00, s01, r, x, s)
		eliminate(a[n+j:n+j+2], s10, s11, r, x, s)
	}
	if i < n {
		a := l[i*n:]
		s0, s1 := dot1x2(a, b, n, j)
		eliminate(a[j:j+2], s0, s1, r, x, s)
	}
}

// eliminate turns (a_ij, a_i,j+1) into (l_ij, l_i,j+1).
func eliminate(e []float64, s0, s1, r, x, s float64) {
	c := (e[0] - s0) * r
	e[1] = (e[1] - s1 - c*x) * s
	e[0] = c
}

// pivot returns √d and 1/√d. The root and the quotient do not wait for each
// other: 1/√d = √d·(1/d), within two units in the last place; where 1/d
// overflows, d being subnormal, it divides by the root.
func pivot(d float64) (root, inverse float64, ok bool) {
	root = math.Sqrt(d)
	inverse = root * (1 / d)
	if !(inverse <= math.MaxFloat64) {
		inverse = 1 / root
	}
	return root, inverse, d > 0 && d <= math.MaxFloat64
}

// cholesky5 is Cholesky at n = 5, the number of moments in a regression on one
// covariate, whose sweep factors one such matrix in a microsecond: unrolled,
// it takes half the time of the loops. It may refuse, with l untouched, what
// the loops accept.
//
// It goes by A = M D Mᵀ, with M unit lower triangular, and L = M D^½: no
// reciprocal of a pivot then waits for a square root. Letters a to e are the
// columns of M D, and v to y those of M.
func cholesky5(l []float64) bool {
	l = l[:25]
	d0 := l[0]
	r := 1 / d0
	a1, a2, a3, a4 := l[5], l[10], l[15], l[20]
	v1, v2, v3, v4 := a1*r, a2*r, a3*r, a4*r
	d1 := l[6] - a1*v1
	r = 1 / d1
	b2, b3, b4 := l[11]-a2*v1, l[16]-a3*v1, l[21]-a4*v1
	w2, w3, w4 := b2*r, b3*r, b4*r
	d2 := l[12] - a2*v2 - b2*w2
	r = 1 / d2
	c3, c4 := l[17]-a3*v2-b3*w2, l[22]-a4*v2-b4*w2
	x3, x4 := c3*r, c4*r
	d3 := l[18] - a3*v3 - b3*w3 - c3*x3
	e4 := l[23] - a4*v3 - b4*w3 - c4*x3
	y4 := e4 * (1 / d3)
	d4 := l[24] - a4*v4 - b4*w4 - c4*x4 - e4*y4

	// Reciprocals of subnormal numbers overflow; sums tell what is not finite.
	const tiny = 0x1p-1022
	if !(d0 >= tiny && d1 >= tiny && d2 >= tiny && d3 >= tiny && d4 >= tiny &&
		d0+d1+d2+d3+d4 <= math.MaxFloat64) {
		return false
	}
	s := math.Sqrt(d0)
	l[0], l[5], l[10], l[15], l[20] = s, v1*s, v2*s, v3*s, v4*s
	s = math.Sqrt(d1)
	l[6], l[11], l[16], l[21] = s, w2*s, w3*s, w4*s
	s = math.Sqrt(d2)
	l[12], l[17], l[22] = s, x3*s, x4*s
	s = math.Sqrt(d3)
	l[18], l[23] = s, y4*s
	l[24] = math.Sqrt(d4)
	return true
}

// Solve solves L Lᵀ x = b in place: b, of length n, becomes x.
// Only the lower triangle of the n×n matrix l is read.
func Solve(l []float64, n int, b []float64) {
	SolveLower(l, n, b)
	SolveLowerT(l, n, b)
}

// SolveLower solves L x = b in place: b, of length n, becomes x.
// Only the lower triangle of the n×n matrix l is read.
func SolveLower(l []float64, n int, b []float64) {
	b = b[:n]
	i := 0
	for ; i+1 < n; i += 2 {
		a := l[i*n:]
		// The reciprocals do not wait for x, as quotients would.
		r, s := 1/a[i], 1/a[n+i+1]
		s0, s1 := dot1x2(b, a, n, i)
		x := (b[i] - s0) * r
		b[i], b[i+1] = x, (b[i+1]-s1-a[n+i]*x)*s
	}
	if i < n {
		a := l[i*n:]
		b[i] = (b[i] - dot(a, b[:i])) / a[i]
	}
}

// SolveLowerT solves Lᵀ x = b in place: b, of length n, becomes x.
// Only the lower triangle of the n×n matrix l is read.
func SolveLowerT(l []float64, n int, b []float64) {
	b = b[:n]
	i := n - 1
	for ; i > 0; i -= 2 {
		a := l[(i-1)*n:]
		r, s := 1/a[n+i], 1/a[i-1]
		x := b[i] * r
		y := (b[i-1] - a[n+i-1]*x) * s
		b[i], b[i-1] = x, y
		head := b[:i-1]
		a0 := a[:len(head)]
		a1 := a[n:][:len(head)]
		for k := range head {
			head[k] -= x*a1[k] + y*a0[k]
		}
	}
	if i == 0 {
		b[0] /= l[0]
	}
}

// LogDet returns log det(L Lᵀ) = 2 Σ log l_ii.
func LogDet(l []float64, n int) float64 {
	l = l[:n*n]
	// Logarithms are dear: take one of the product of mantissas, and count
	// the exponents apart. Mantissas lie in [½, 1), so that 1000 of them
	// cannot underflow.
	product, exponent := 1.0, 0
	for i := 0; i < len(l); i += n + 1 {
		f, e := math.Frexp(l[i])
		product *= f
		exponent += e
		if product < 0x1p-1000 {
			f, e = math.Frexp(product)
			product, exponent = f, exponent+e
		}
	}
	return 2 * (math.Log(product) + float64(exponent)*math.Ln2)
}

// InvertLower writes L⁻¹, lower triangular with zeros above, into the n×n dst.
// Only the lower triangle of l is read.
func InvertLower(dst, l []float64, n int) {
	InvertTransposed(dst, l, n)
	for i := range n {
		for j := range i {
			dst[i*n+j], dst[j*n+i] = dst[j*n+i], 0
		}
	}
}

// InverseFromCholesky writes (L Lᵀ)⁻¹, full and symmetric, into the n×n dst.
// Only the lower triangle of l is read.
//
// With U = L⁻ᵀ in the upper triangle of dst, the inverse is U Uᵀ, so that
//
//	(U Uᵀ)_ij = Σ_{k≥i} u_ik u_jk   for j ≤ i,
//
// products of contiguous rows. Rows i ascending overwrite the lower triangle
// and the diagonal, which later rows do not need.
func InverseFromCholesky(dst, l []float64, n int) {
	InvertTransposed(dst, l, n)
	i := 0
	for ; i+1 < n; i += 2 {
		// The zero left in dst below the diagonal of the block lets both
		// rows start at k = i.
		u := dst[i*n+i:]
		for j := 0; j < i; j += 2 {
			s00, s01, s10, s11 := dot2x2(u, n, dst[j*n+i:], n, n-i)
			d := dst[i*n+j:]
			d[0], d[1] = s00, s01
			d[n], d[n+1] = s10, s11
		}
		s00, _, s10, s11 := dot2x2(u, n, u, n, n-i)
		u[0], u[n], u[n+1] = s00, s10, s11
	}
	if i < n {
		u := dst[i*n : i*n+i+1]
		v := u[i]
		for j := range u {
			u[j] = v * dst[j*n+i]
		}
	}
	Symmetrise(dst, n)
}

// InvertTransposed writes U = L⁻ᵀ into the upper triangle of dst, and zeros
// just below the diagonal; only the lower triangle of l is read. From Uᵀ L = I read by columns of L, with i > j,
//
//	u_ji = −(Σ_{j≤k<i} u_jk l_ik) / l_ii,   u_jj = 1/l_jj.
func InvertTransposed(dst, l []float64, n int) {
	dst, l = dst[:n*n], l[:n*n]
	for i := range n {
		dst[i*n+i] = 1 / l[i*n+i]
	}
	for j := 0; j+1 < n; j += 2 {
		u := dst[j*n:]
		u[n+j] = 0
		u[j+1] = -u[j] * l[(j+1)*n+j] * u[n+j+1]
		i := j + 2
		for ; i+1 < n; i += 2 {
			a := l[i*n:]
			s00, s01, s10, s11 := dot2x2(u[j:], n, a[j:], n, i-j)
			r, s, x := dst[i*n+i], dst[(i+1)*n+i+1], a[n+i]
			s00 *= r
			s10 *= r
			u[i], u[i+1] = -s00, (s00*x-s01)*s
			u[n+i], u[n+i+1] = -s10, (s10*x-s11)*s
		}
		if i < n {
			s0, s1 := dot1x2(l[i*n+j:], u[j:], n, i-j)
			r := dst[i*n+i]
			u[i], u[n+i] = -s0*r, -s1*r
		}
	}
}
