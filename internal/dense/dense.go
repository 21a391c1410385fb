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
