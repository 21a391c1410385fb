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
