package dense

import "math"

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
	invertTransposed(dst, l, n)
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
	invertTransposed(dst, l, n)
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

// invertTransposed writes U = L⁻ᵀ into the upper triangle of dst, and zeros
// just below the diagonal. From Uᵀ L = I read by columns of L, with i > j,
//
//	u_ji = −(Σ_{j≤k<i} u_jk l_ik) / l_ii,   u_jj = 1/l_jj.
func invertTransposed(dst, l []float64, n int) {
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
