package model

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
)

// fixedSource is what does not depend on parameters, shared by all chains.
type fixedSource struct {
	shape Shape
	d     int
	mean  []float64 // ū
	f     []float64 // d×d; the first row and column, of the constant, are 0
	froot []float64 // F = froot frootᵀ without the constant: (d−1)×(d−1)
	a     []float64 // A, (p+1)×(p+1)
	aroot []float64 // A = aroot arootᵀ
	at    []int     // position in u of a_j a_k, (p+1)×(p+1)
	stat  []int     // position in t of u_k, k ≥ 1
	line  []int     // position in t of a_j y, then that of y²: p+2
}

// semidefinite is how far below 0, relative to the trace, an eigenvalue may
// lie by rounding or by the tolerance of a projection.
const semidefinite = 1e-7

// NewFixedMoments builds the law for given moments of x. Errors: moments of
// another number of covariates, or those of no random vector: F or A not
// positive semidefinite.
func NewFixedMoments(s Shape, x *XMoments) (*FixedMoments, error) {
	if x.P != s.P {
		return nil, fmt.Errorf("moments of %d covariates, the model has %d", x.P, s.P)
	}
	p, d, m := s.P, monomials(s.P), s.M()
	t := &fixedSource{shape: s, d: d, mean: append([]float64(nil), x.M[:d]...),
		f: make([]float64, d*d),
		a: make([]float64, m*m), aroot: make([]float64, m*m), at: make([]int, m*m)}
	var central []float64 // F without the constant
	for r := 1; r < d; r++ {
		for c := 1; c < d; c++ {
			central = append(central, x.M[r*d+c]-t.mean[r]*t.mean[c])
		}
	}
	t.froot = make([]float64, len(central))
	for j := range m {
		copy(t.a[j*m:(j+1)*m], x.M[j*d:])
		for k := range m {
			t.at[j*m+k] = product(p, min(j, k), max(j, k))
		}
	}
	if !root(t.froot, central, d-1) || !root(t.aroot, t.a, m) {
		return nil, errors.New("the moments of the covariates are those of no distribution: their covariance is not positive semidefinite")
	}
	for r := range d - 1 {
		copy(t.f[(r+1)*d+1:], central[r*(d-1):(r+1)*(d-1)])
	}
	t.stat = []int{-1}
	for _, f := range factors(p)[1:] {
		if len(f) == 1 {
			t.stat = append(t.stat, f[0])
			continue
		}
		t.stat = append(t.stat, release.Index(m, f[0], f[1]))
	}
	t.line = []int{p}
	for j := range m {
		t.line = append(t.line, release.Index(m, j, p))
	}
	return t.law(), nil
}

// product is the position in u of a_j a_k, j ≤ k.
func product(p, j, k int) int {
	if j == 0 {
		return k
	}
	return p + 1 + (j-1)*p - (j-1)*(j-2)/2 + k - j
}

// root writes a G with A = GGᵀ for symmetric A, n×n: the lower Cholesky factor,
// or for a singular A the eigenvectors times the roots of the eigenvalues. It
// reports false if A is not positive semidefinite. Where an eigenvalue lies below 0 by
// rounding, A becomes GGᵀ.
func root(dst, a []float64, n int) bool {
	copy(dst, a)
	if dense.Cholesky(dst, n) {
		for i := range n {
			clear(dst[i*n+i+1 : (i+1)*n])
		}
		return true
	}
	values, trace := make([]float64, n), 0.0
	if !dense.SymEigen(values, dst, a, n, make([]float64, n*n)) {
		return false
	}
	for _, v := range values {
		trace += math.Abs(v)
	}
	for j, v := range values {
		if v < -semidefinite*trace {
			return false
		}
		scale := math.Sqrt(max(0, v))
		for i := range n {
			dst[i*n+j] *= scale
		}
	}
	if values[0] < 0 {
		dense.MulABt(a, dst, dst, n, n, n)
		dense.Symmetrise(a, n)
	}
	return true
}
