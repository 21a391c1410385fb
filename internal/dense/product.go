package dense

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

// LLt writes L Lᵀ, full and symmetric, into the n×n dst. Only the lower
// triangle of l is read.
func LLt(dst, l []float64, n int) { mulLowerT(dst, l, l, n) }

// mulLowerT writes W Lᵀ, known to be symmetric, by its lower triangle:
// Σ_{k≤j} w_ik l_jk for j ≤ i.
func mulLowerT(dst, w, l []float64, n int) {
	for i := range n {
		a := w[i*n:]
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
