package dense

import "math"

// maxSweeps bounds the Jacobi iteration, which converges quadratically: fewer
// than ten sweeps serve up to dimension 100.
const maxSweeps = 60

// SymEigen writes the eigenvalues of symmetric A, ascending, into values (n),
// and orthonormal eigenvectors into the columns of vectors (n×n), so that
// A = V diag(values) Vᵀ. Only the lower triangle of a is read; work is n×n.
// It reports false, with undefined results, if A is not finite.
//
// The cyclic Jacobi method (Golub & Van Loan, Matrix Computations, 4th ed.,
// §8.5): A ← JᵀAJ with a rotation J in the plane (p, q) that makes a_pq zero,
//
//	τ = (a_qq − a_pp)/(2a_pq),  t = sign(τ)/(|τ| + √(1+τ²)),
//	c = 1/√(1+t²),  s = tc,
//
// over all planes until no off-diagonal element exceeds 2⁻⁵³‖A‖/n, which
// leaves the eigenvalues within 2⁻⁵³‖A‖ of those of the matrix held.
func SymEigen(values, vectors, a []float64, n int, work []float64) bool {
	w, v := work[:n*n], vectors[:n*n]
	copy(w, a[:n*n])
	Symmetrise(w, n)
	var norm float64
	for i := range v {
		v[i] = 0
		norm = math.Hypot(norm, w[i])
	}
	if !(norm <= math.MaxFloat64) {
		return false
	}
	for i := range n {
		v[i*n+i] = 1
	}
	tol := 0x1p-53 * norm / float64(n)
	for range maxSweeps {
		if !jacobiSweep(w, v, n, tol) {
			break
		}
	}
	for i := range n {
		values[i] = w[i*n+i]
	}
	sortRows(values[:n], v, n)
	Transpose(v, n)
	return true
}

// jacobiSweep rotates every plane once, and reports whether any needed it.
// The rows of v turn with the planes.
func jacobiSweep(w, v []float64, n int, tol float64) (rotated bool) {
	for p := range n - 1 {
		for q := p + 1; q < n; q++ {
			if x := w[p*n+q]; math.Abs(x) > tol {
				rotated = true
				t := tangent((w[q*n+q] - w[p*n+p]) / (2 * x))
				c := 1 / math.Sqrt(1+t*t)
				rotate(w, n, p, q, c, t*c, t*x)
				rotateRows(v[p*n:][:n], v[q*n:][:n], c, t*c)
			}
		}
	}
	return rotated
}

// tangent returns the smaller root of t² + 2τt − 1 = 0.
func tangent(tau float64) float64 {
	return math.Copysign(1/(math.Abs(tau)+math.Hypot(1, tau)), tau)
}

// rotate forms JᵀWJ in the plane (p, q), where shift = t·w_pq.
func rotate(w []float64, n, p, q int, c, s, shift float64) {
	a, b := w[p*n:][:n], w[q*n:][:n]
	pp, qq := a[p]-shift, b[q]+shift
	rotateRows(a, b, c, s)
	for k := range n {
		w[k*n+p], w[k*n+q] = a[k], b[k]
	}
	a[p], b[q] = pp, qq
	a[q], b[p] = 0, 0
}

// rotateRows turns the pair of rows (a, b) into (ca − sb, sa + cb).
func rotateRows(a, b []float64, c, s float64) {
	b = b[:len(a)]
	for k, x := range a {
		y := b[k]
		a[k], b[k] = c*x-s*y, s*x+c*y
	}
}

// sortRows sorts values ascending, and the rows of v with them.
func sortRows(values, v []float64, n int) {
	for i := range n {
		m := i
		for j := i + 1; j < n; j++ {
			if values[j] < values[m] {
				m = j
			}
		}
		if m != i {
			values[i], values[m] = values[m], values[i]
			a, b := v[i*n:][:n], v[m*n:][:n]
			for k := range a {
				a[k], b[k] = b[k], a[k]
			}
		}
	}
}

// FromEigen writes V diag(values) Vᵀ into the n×n dst, of vectors as SymEigen has them.
func FromEigen(dst, values, vectors []float64, n int) {
	for i := range n {
		for j := range n {
			sum := 0.0
			for k, v := range values[:n] {
				sum += v * vectors[i*n+k] * vectors[j*n+k]
			}
			dst[i*n+j] = sum
		}
	}
}

// Transpose transposes the n×n matrix a in place.
func Transpose(a []float64, n int) {
	for i := range n {
		for j := range i {
			a[i*n+j], a[j*n+i] = a[j*n+i], a[i*n+j]
		}
	}
}
