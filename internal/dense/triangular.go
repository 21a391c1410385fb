package dense

// Shape says where a square matrix has numbers: everywhere, or in one triangle with zeros in
// the other.
type Shape int

const (
	Full Shape = iota
	Lower
	Upper
)

// span is where rows i and i+1 have numbers.
func (s Shape) span(i, n int) (from, to int) {
	switch s {
	case Lower:
		return 0, min(i+2, n)
	case Upper:
		return i, n
	}
	return 0, n
}

// MulLower writes the lower triangle of A B into that of dst, given those of the n×n matrices a and b; dst and b may be
// the same slice.
func MulLower(dst, a, b []float64, n int) {
	for i := n - 1; i >= 0; i-- {
		row := a[i*n : i*n+i+1]
		for j := range row {
			sum := 0.0
			for k := j; k <= i; k++ {
				sum += row[k] * b[k*n+j]
			}
			dst[i*n+j] = sum
		}
	}
}

// MulABtLower writes the lower triangle of A Bᵀ, of n×n matrices of these shapes, into that of
// dst, over no more terms than have numbers.
func MulABtLower(dst, a []float64, aShape Shape, b []float64, bShape Shape, n int) {
	if n == 1 {
		dst[0] = a[0] * b[0]
		return
	}
	i := 0
	for ; i+1 < n; i += 2 {
		first, last := aShape.span(i, n)
		for j := 0; j <= i; j += 2 {
			from, to := bShape.span(j, n)
			from, to = max(from, first), max(min(to, last), from, first)
			a0, a1 := a[i*n+from:i*n+to], a[(i+1)*n+from:(i+1)*n+to]
			b0, b1 := b[j*n+from:j*n+to], b[(j+1)*n+from:(j+1)*n+to]
			a1, b0, b1 = a1[:len(a0)], b0[:len(a0)], b1[:len(a0)]
			var s00, s01, s10, s11 float64
			for k, u := range a0 {
				v, p, q := a1[k], b0[k], b1[k]
				s00 += u * p
				s01 += u * q
				s10 += v * p
				s11 += v * q
			}
			d := dst[i*n+j : i*n+j+n+2]
			d[0], d[n], d[n+1] = s00, s10, s11
			if j < i {
				d[1] = s01
			}
		}
	}
	if i < n {
		lastRow(dst[i*n:], a[i*n:], aShape, b, bShape, n)
	}
}

// lastRow is MulABtLower of the last of an odd number of rows.
func lastRow(dst, a []float64, aShape Shape, b []float64, bShape Shape, n int) {
	first, _ := aShape.span(n-1, n)
	j := 0
	for ; j+1 < n; j += 2 {
		from, to := bShape.span(j, n)
		from = max(from, first)
		dst[j], dst[j+1] = dot1x2(a[from:], b[j*n+from:], n, max(to-from, 0))
	}
	from, _ := bShape.span(j, n)
	from = max(from, first)
	dst[j] = dot(a[from:], b[j*n+from:][:n-from])
}

// TransposeTo writes Aᵀ, n×n, into dst.
func TransposeTo(dst, a []float64, n int) {
	a = a[:n*n]
	for i := range n {
		row := dst[i*n:][:n]
		at := i
		for j := range row {
			row[j] = a[at]
			at += n
		}
	}
}

// HalfProduct writes ½PUᵀ, symmetric, into dst, given P and an upper triangular U.
func HalfProduct(dst, u, product []float64, n int) {
	MulABtLower(dst, u, Upper, product, Full, n)
	for i := range n {
		row := dst[i*n : i*n+i+1]
		for j := range row {
			row[j] *= 0.5
		}
	}
	Symmetrise(dst, n)
}
