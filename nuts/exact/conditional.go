package exact

import "github.com/dpreg/dpreg/internal/dense"

// conditional makes x of a normal law that depends on others' values, of precision P = RRᵀ and
// mean P⁻¹b, by coordinates u that are standard normal under it:
//
//	x = P⁻¹b + R⁻ᵀu,   log|∂x/∂u| = −½ log|P|.
type conditional struct {
	n       int
	root    []float64 // P, of which the caller writes the lower triangle, and R
	mean    []float64 // b, which the caller writes, and P⁻¹b
	e, d    []float64
	precise []float64 // gradient in P
}

func newConditional(n int) *conditional {
	return &conditional{n: n, root: make([]float64, n*n), mean: make([]float64, n), e: make([]float64, n), d: make([]float64, n), precise: make([]float64, n*n)}
}

// prepare takes P and b. It reports false where rounding leaves P indefinite.
func (f *conditional) prepare() (logJ float64, ok bool) {
	if !dense.Cholesky(f.root, f.n) {
		return 0, false
	}
	dense.SolveLower(f.root, f.n, f.mean)
	dense.SolveLowerT(f.root, f.n, f.mean)
	return -0.5 * dense.LogDet(f.root, f.n), true
}

// set writes x of u after prepare, and coordinates u of x.
func (f *conditional) set(x, u []float64) {
	copy(x, u)
	dense.SolveLowerT(f.root, f.n, x)
	addScaled(x, 1, f.mean)
}

func (f *conditional) coordinates(u, x []float64) {
	copy(u, x)
	addScaled(u, -1, f.mean)
	dense.MulLowerTVec(u, f.root, f.n, u)
}

// pull writes the gradient in u, given that in x, of a density whose log J is added, and leaves
// those in b in d, and in P, symmetric, in precise: with e = R⁻¹g and d = R⁻ᵀe, a = P⁻¹b, by
// Cholesky's adjoint
//
//	½(R⁻ᵀSR⁻¹ − daᵀ − adᵀ),   S_kl = −u_k e_l for k ≥ l, less 1 for k = l, symmetric.
func (f *conditional) pull(grad, g, u []float64) {
	n := f.n
	copy(f.e, g)
	dense.SolveLower(f.root, n, f.e)
	copy(f.d, f.e)
	dense.SolveLowerT(f.root, n, f.d)
	copy(grad, f.e)
	clear(f.precise)
	for k := range n {
		for l := range k + 1 {
			f.precise[k*n+l] = -u[k] * f.e[l]
		}
		f.precise[k*n+k]--
	}
	halfCongruence(f.precise, f.root, n)
	for k := range n {
		for l := range n {
			f.precise[k*n+l] -= 0.5 * (f.d[k]*f.mean[l] + f.mean[k]*f.d[l])
		}
	}
}

// halfCongruence takes S, symmetric, of which the lower triangle is given, to ½L⁻ᵀSL⁻¹.
func halfCongruence(s, l []float64, n int) {
	dense.Symmetrise(s, n)
	for range 2 { // L⁻ᵀS, row by row of its transpose, and again
		for i := range n {
			dense.SolveLowerT(l, n, s[i*n:(i+1)*n])
		}
		dense.Transpose(s, n)
	}
	for i := range s {
		s[i] *= 0.5
	}
}
