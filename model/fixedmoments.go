package model

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
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
	*fixedSource
	sigma2 float64
	c      []float64 // p+1
	rf     []float64 // rows R_jF, j = 0…p, then the one of y²: (p+2)×d
	ac     []float64 // Ac, p+1

	g    []float64 // workspace: d
	z    []float64 // max(d, p+1)
	rows []float64 // (p+2)×d
}

// law adds a workspace.
func (t *fixedSource) law() *FixedMoments {
	m := t.shape.M()
	vec := func(n int) []float64 { return make([]float64, n) }
	return &FixedMoments{fixedSource: t, c: vec(m), ac: vec(m), rf: vec((m + 1) * t.d),
		g: vec(t.d), z: vec(max(t.d, m)), rows: vec((m + 1) * t.d)}
}

// Another returns the same law with a workspace of its own, for another chain.
func (t *FixedMoments) Another() *FixedMoments { return t.fixedSource.law() }

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
			for i, v := range t.f[at*d : (at+1)*d] {
				row[i] += ck * v
			}
		}
		t.ac[j] = ac
		for i, v := range row {
			last[i] += t.c[j] * v
		}
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
	q := statistics(m)
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
	normals(z, math.Sqrt(n), rng)
	dense.MulABt(t.g[1:], t.froot, z, d-1, 1, d-1)
	for k := 1; k < d; k++ {
		dst[t.stat[k]] += t.g[k]
	}
	yy := math.Sqrt(2*n) * t.sigma2 * rng.NormFloat64()
	eta := t.rows[:m]
	z = t.z[:m]
	normals(z, math.Sqrt(n*t.sigma2), rng)
	dense.MulABt(eta, t.aroot, z, m, 1, m)
	for j, e := range eta {
		v := t.along(t.g, j)
		dst[t.line[j]] += v + e
		yy += t.c[j] * (v + 2*e)
	}
	dst[t.line[m]] += yy
}

func normals(dst []float64, sd float64, rng *rand.Rand) {
	for i := range dst {
		dst[i] = sd * rng.NormFloat64()
	}
}
