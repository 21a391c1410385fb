package model

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/release"
)

// FixedMoments is the law of one row's statistics where the moments of x are
// given and only (θ, σ²) are parameters. With u the monomials of degree ≤ 2 of x,
// ū = E u, F = Cov u, a = (1, x), A = E aaᵀ, c = θ (c₀ = 0 without an intercept)
// and e ~ N(0, σ²), statistics are
//
//	x_j, x_j x_k:  entries of u
//	a_j y = Σ_k c_k a_j a_k + a_j e                      =: R_j u + a_j e
//	y²    = Σ_j c_j R_j u + 2cᵀa e + e²,
//
// so that Σ_t = R F Rᵀ + E Cov(t | x), where E Cov(t | x) has the entries
//
//	(a_j y, a_k y): σ²A_jk    (a_j y, y²): 2σ²(Ac)_j    (y², y²): 4σ²cᵀAc + 2σ⁴.
//
// It is positive semidefinite for every (θ, σ²) if and only if F and A are.
type FixedMoments struct {
	// What does not depend on parameters, and chains share:
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

	sigma2 float64
	c      []float64 // p+1
	rf     []float64 // rows R_jF, j = 0…p, then the one of y²: (p+2)×d
	ac     []float64 // Ac, p+1

	g    []float64 // workspace: d
	z    []float64 // max(d, p+1)
	rows []float64 // (p+2)×d
}

// Another returns the same law with a workspace of its own, for another chain.
func (t *FixedMoments) Another() *FixedMoments {
	m, out := t.shape.M(), *t
	vec := func(n int) []float64 { return make([]float64, n) }
	out.c, out.ac, out.rf = vec(m), vec(m), vec((m+1)*t.d)
	out.g, out.z, out.rows = vec(t.d), vec(max(t.d, m)), vec((m+1)*t.d)
	return &out
}

// Set takes θ and σ².
func (t *FixedMoments) Set(x *Params) {
	m, d := t.shape.M(), t.d
	t.sigma2 = x.Sigma2
	copy(t.c[1-t.shape.first():], x.Theta)
	last := t.rf[m*d:]
	clear(t.rf)
	for j := range m {
		row, ac := t.rf[j*d:(j+1)*d], 0.0
		for k, ck := range t.c {
			at := t.at[j*m+k]
			ac += t.a[j*m+k] * ck
			floats.AddScaled(row, ck, t.f[at*d:(at+1)*d])
		}
		t.ac[j] = ac
		floats.AddScaled(last[:d], t.c[j], row)
	}
}

// Conflict returns how far sums z of n rows over the covariates alone, of degree 1 and
// 2, lie from n times their moments: the largest distance in standard deviations, of
// sampling, of the noise on each sum (noise, canonical order) and of n (countSD)
// together. These sums say nothing of parameters, so that a large distance is a
// fault of the moments.
func (t *FixedMoments) Conflict(z []float64, n float64, noise func(i int) float64, countSD float64) (largest float64) {
	for k := 1; k < t.d; k++ {
		i, mean := t.stat[k], t.mean[k]
		sd := math.Hypot(math.Sqrt(max(0, n*t.f[k*t.d+k])), math.Hypot(noise(i), mean*countSD))
		largest = max(largest, math.Abs(z[i]-n*mean)/sd)
	}
	return largest
}

// Factor has nothing to do: roots of F and A do not depend on parameters.
func (t *FixedMoments) Factor() bool { return true }

// Expect writes nμ_t.
func (t *FixedMoments) Expect(dst []float64, n float64) {
	for k, v := range t.mean[1:] {
		dst[t.stat[k+1]] = n * v
	}
	yy := t.sigma2
	for j, v := range t.ac {
		dst[t.line[j]] = n * v
		yy += t.c[j] * v
	}
	dst[t.line[len(t.ac)]] = n * yy
}

// Covariance writes the lower triangle of nΣ_t.
func (t *FixedMoments) Covariance(dst []float64, n float64) {
	m, d := t.shape.M(), t.d
	q := release.Length(m)
	for k := 1; k < d; k++ {
		row := dst[t.stat[k]*q:]
		for l := 1; l <= k; l++ {
			row[t.stat[l]] = n * t.f[k*d+l]
		}
	}
	s2 := t.sigma2
	quad, explained := 0.0, 0.0 // cᵀAc and R F Rᵀ at (y², y²)
	for i := range m + 1 {
		row, at := t.rf[i*d:(i+1)*d], t.line[i]
		for k := 1; k < d; k++ {
			dst[lower(q, at, t.stat[k])] = n * row[k]
		}
		for j := range min(i+1, m) {
			v := t.along(row, j)
			if i == m {
				explained += t.c[j] * v
				quad += t.c[j] * t.ac[j]
				v += 2 * s2 * t.ac[j]
			} else {
				v += s2 * t.a[i*m+j]
			}
			dst[lower(q, at, t.line[j])] = n * v
		}
	}
	yy := t.line[m]
	dst[yy*q+yy] = n * (explained + 4*s2*quad + 2*s2*s2)
}

// along returns R_j g.
func (t *FixedMoments) along(g []float64, j int) (v float64) {
	m := len(t.c)
	for k, at := range t.at[j*m : (j+1)*m] {
		v += t.c[k] * g[at]
	}
	return v
}

// lower is the place of entry (i, j) in the lower triangle.
func lower(q, i, j int) int { return max(i, j)*q + min(i, j) }

// Rand draws N(nμ_t, nΣ_t) from the two parts of Σ_t, without Σ_t: with
// g ~ N(0, nF) and η ~ N(0, nσ²A), a_j y gets R_j g + η_j, and y²
// Σ_j c_j (R_j g + 2η_j) + √(2n) σ² ζ, ζ ~ N(0, 1).
func (t *FixedMoments) Rand(dst []float64, n float64, rng *rand.Rand) {
	m, d := t.shape.M(), t.d
	t.Expect(dst, n)
	z := t.z[:d-1]
	variate.Normals(z, math.Sqrt(n), rng)
	dense.MulABt(t.g[1:], t.froot, z, d-1, 1, d-1)
	for k := 1; k < d; k++ {
		dst[t.stat[k]] += t.g[k]
	}
	yy := math.Sqrt(2*n) * t.sigma2 * rng.NormFloat64()
	eta := t.rows[:m]
	z = t.z[:m]
	variate.Normals(z, math.Sqrt(n*t.sigma2), rng)
	dense.MulABt(eta, t.aroot, z, m, 1, m)
	for j, e := range eta {
		v := t.along(t.g, j)
		dst[t.line[j]] += v + e
		yy += t.c[j] * (v + 2*e)
	}
	dst[t.line[m]] += yy
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
	p, d, m := s.P, 1+release.Length(s.P), s.M()
	t := &FixedMoments{shape: s, d: d, mean: slices.Clone(x.M[:d]),
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
		t.stat = append(t.stat, statistic(m, f))
	}
	t.line = []int{p}
	for j := range m {
		t.line = append(t.line, release.Index(m, j, p))
	}
	return t.Another(), nil
}

// product is the position in u of a_j a_k, j ≤ k.
func product(p, j, k int) int {
	if j == 0 {
		return k
	}
	return 1 + release.Index(p, j-1, k-1)
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

// Adjoint adds to grad, in (θ, σ²), the gradient of a function f of
// (nμ_t, nΣ_t) at the parameters of the last Set, given alpha = ∂f/∂(nμ_t) and
// the symmetric w with df = Σ_rc w_rc d(nΣ_t)_rc; of w only the lower triangle
// is read.
//
// Through R F Rᵀ and R ū the gradient in the rows of R is G = 2n w R F + nαūᵀ,
// and since R_j has c_k at a_j a_k and the row of y² is Σ_j c_j R_j
//
//	∂c_k = Σ_j (G_j + 2 c_j G_yy) at a_j a_k.
//
// E Cov(t | x) adds, with w_j = w at (a_j y, y²),
//
//	∂c  = 4nσ² A(w. + 2w_yy c)
//	∂σ² = n [ Σ_jk w_jk A_jk + 4 Σ_j w_j (Ac)_j + 4 w_yy (cᵀAc + σ²) + α_yy ].
func (t *FixedMoments) Adjoint(grad, alpha, w []float64, n float64) {
	m, d := t.shape.M(), t.d
	q := release.Length(m)
	yy := t.line[m]
	for i := range m + 1 {
		t.rowGradient(t.rows[i*d:(i+1)*d], i, alpha[t.line[i]], w, n)
	}
	last, wyy := t.rows[m*d:(m+1)*d], w[yy*q+yy]
	first, sigma2 := t.shape.first(), alpha[yy]+4*wyy*t.sigma2
	for k := range m {
		g := 0.0
		for j, cj := range t.c {
			at := t.at[j*m+k]
			wj := w[lower(q, yy, t.line[j])]
			g += t.rows[j*d+at] + 2*cj*last[at] + 4*n*t.sigma2*t.a[k*m+j]*(wj+2*wyy*cj)
			sigma2 += w[lower(q, t.line[j], t.line[k])] * t.a[j*m+k]
		}
		sigma2 += 4 * (w[lower(q, yy, t.line[k])] + wyy*t.c[k]) * t.ac[k]
		if at := k - 1 + first; at >= 0 {
			grad[at] += g
		}
	}
	grad[t.shape.Q()] += n * sigma2
}

// rowGradient writes row i of G: i = j for a_j y, m for y².
func (t *FixedMoments) rowGradient(dst []float64, i int, alpha float64, w []float64, n float64) {
	m, d := t.shape.M(), t.d
	q := release.Length(m)
	at := t.line[i]
	t.z[0] = 0
	for k := 1; k < d; k++ {
		t.z[k] = w[lower(q, at, t.stat[k])]
	}
	dense.SymMulVec(dst, t.f, d, t.z[:d])
	for j := range m + 1 {
		v := w[lower(q, at, t.line[j])]
		floats.AddScaled(dst[:d], v, t.rf[j*d:(j+1)*d])
	}
	for k, u := range t.mean {
		dst[k] = n * (2*dst[k] + alpha*u)
	}
}
