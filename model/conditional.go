package model

import (
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
)

// Conditional makes x of a normal law that depends on others' values, of precision P = RRᵀ and
// mean P⁻¹b, by coordinates u that are standard normal under it:
//
//	x = P⁻¹b + R⁻ᵀu,   log|∂x/∂u| = −½ log|P|.
type Conditional struct {
	Root    []float64 // P, n×n, of which the caller writes the lower triangle, and R
	Mean    []float64 // b, n, which the caller writes, and P⁻¹b
	Linear  []float64 // gradient in b, where Pull was last
	Precise []float64 // gradient in P, n×n and symmetric

	n                int
	e                []float64
	inverse, product []float64 // R⁻ᵀ and R⁻ᵀS
}

// NewConditional allocates for n coordinates.
func NewConditional(n int) *Conditional {
	vec := func(n int) []float64 { return make([]float64, n) }
	return &Conditional{n: n, Root: vec(n * n), Mean: vec(n), Linear: vec(n), Precise: vec(n * n), e: vec(n), inverse: vec(n * n), product: vec(n * n)}
}

// Prepare takes P and b. It reports false where rounding leaves P indefinite.
func (f *Conditional) Prepare() (logJ float64, ok bool) {
	if !dense.Cholesky(f.Root, f.n) {
		return 0, false
	}
	dense.Solve(f.Root, f.n, f.Mean)
	return -0.5 * dense.LogDet(f.Root, f.n), true
}

// Set writes x of u after Prepare, and Coordinates u of x.
func (f *Conditional) Set(x, u []float64) {
	copy(x, u)
	dense.SolveLowerT(f.Root, f.n, x)
	floats.Add(x, f.Mean)
}

// Coordinates is the reverse of Set.
func (f *Conditional) Coordinates(u, x []float64) {
	floats.SubTo(u, x, f.Mean)
	dense.MulLowerTVec(u, f.Root, f.n, u)
}

// Pull writes the gradient in u, given that in x, of a density whose log J is added, and
// those in b and in P: with e = R⁻¹g and d = R⁻ᵀe, a = P⁻¹b, by Cholesky's adjoint
//
//	½(R⁻ᵀSR⁻¹ − daᵀ − adᵀ),   S_kl = −u_k e_l for k ≥ l, less 1 for k = l, symmetric.
func (f *Conditional) Pull(grad, g, u []float64) {
	n := f.n
	copy(f.e, g)
	dense.SolveLower(f.Root, n, f.e)
	copy(f.Linear, f.e)
	dense.SolveLowerT(f.Root, n, f.Linear)
	copy(grad, f.e)
	dense.InvertTransposed(f.inverse, f.Root, n)
	for b := range n {
		f.timesS(f.product[b*n:(b+1)*n], f.inverse[b*n:(b+1)*n], u, b)
	}
	dense.HalfProduct(f.Precise, f.inverse, f.product, n)
	for k := range n {
		for l := range n {
			f.Precise[k*n+l] -= 0.5 * (f.Linear[k]*f.Mean[l] + f.Mean[k]*f.Linear[l])
		}
	}
}

// timesS writes vᵀS of a row v of R⁻ᵀ, 0 before from:
//
//	(vᵀS)_a = −e_a Σ_{k≥a} v_k u_k − u_a Σ_{k<a} v_k e_k − v_a.
func (f *Conditional) timesS(dst, v, u []float64, from int) {
	sum := 0.0
	for a := len(v) - 1; a >= from; a-- {
		sum += v[a] * u[a]
		dst[a] = -f.e[a]*sum - v[a]
	}
	for a := range from {
		dst[a] = -f.e[a] * sum
	}
	sum = 0
	for a := from; a < len(v); a++ {
		dst[a] -= u[a] * sum
		sum += v[a] * f.e[a]
	}
}
