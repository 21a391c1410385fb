package dense

import "math"

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
