package model

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/release"
)

// Moments is the law of one row's statistics t(v) = (v_j ; v_j v_k, j ≤ k) for
// jointly normal v = (x, y) ~ N(μ, V):
//
//	μ = (μ_x, θ₀ + βᵀμ_x)      V = [ T    Tβ        ]
//	                               [ βᵀT  βᵀTβ + σ² ]
//
//	E v_j = μ_j                  E v_j v_k = S_jk = V_jk + μ_jμ_k
//	Cov(v_i, v_k)         = V_ik
//	Cov(v_i v_j, v_k)     = V_ik μ_j + V_jk μ_i                 =: c_k
//	Cov(v_i v_j, v_k v_l) = V_jl S_ik + V_il S_jk + μ_l c_k     (Isserlis)
//
// The last form has no cancellation, however far the means are from 0.
type Moments struct {
	Shape Shape
	Mean  []float64 // m
	Cov   []float64 // V, m×m row-major, symmetric
	Chol  []float64 // V's lower Cholesky factor, after Factor

	g, lg []float64 // Rand's workspace: m, m
	low   []float64 // m×m
}

// NewMoments allocates for a shape.
func NewMoments(s Shape) *Moments {
	m := s.M()
	vec := func() []float64 { return make([]float64, m) }
	square := func() []float64 { return make([]float64, m*m) }
	return &Moments{Shape: s, Mean: vec(), Cov: square(), Chol: square(),
		g: vec(), lg: vec(), low: square()}
}

// Set computes μ and V from the parameters.
func (t *Moments) Set(x *Params) {
	p, m := t.Shape.P, t.Shape.M()
	beta := x.Theta[t.Shape.first():]
	mean, variance := 0.0, x.Sigma2
	if t.Shape.Intercept {
		mean = x.Theta[0]
	}
	for j := range p {
		row := x.Tau[j*p : (j+1)*p]
		copy(t.Cov[j*m:j*m+p], row)
		cov := dense.Dot(row, beta)
		t.Cov[j*m+p], t.Cov[p*m+j] = cov, cov
		variance += beta[j] * cov
		t.Mean[j] = x.MuX[j]
		mean += beta[j] * x.MuX[j]
	}
	t.Mean[p], t.Cov[p*m+p] = mean, variance
}

// Expect writes nμ_t in canonical order.
func (t *Moments) Expect(dst []float64, n float64) {
	m := t.Shape.M()
	r := m
	for j, mj := range t.Mean {
		dst[j] = n * mj
		for k := j; k < m; k++ {
			dst[r] = n * (t.Cov[j*m+k] + mj*t.Mean[k])
			r++
		}
	}
}

// Covariance writes the lower triangle of nΣ_t, q×q row-major in canonical
// order; what stands above the diagonal is left as it is.
func (t *Moments) Covariance(dst []float64, n float64) {
	m := t.Shape.M()
	q := release.Length(m)
	mu, cov := t.Mean, t.Cov
	for j := range m {
		row := dst[j*q : j*q+j+1]
		for k := range row {
			row[k] = n * cov[j*m+k]
		}
	}
	r := m
	for i := range m {
		vi := cov[i*m : i*m+m]
		for j := i; j < m; j++ {
			vj := cov[j*m : j*m+m]
			row := dst[r*q : r*q+r+1]
			ni, nj := n*mu[i], n*mu[j]
			for k := range m {
				row[k] = vi[k]*nj + vj[k]*ni
			}
			at := m
			for k := 0; k <= i; k++ {
				end := m
				if k == i {
					end = j + 1
				}
				a, b, c := n*vi[k]+ni*mu[k], n*vj[k]+nj*mu[k], row[k]
				out := row[at : at+end-k]
				xj, xi, xm := vj[k:end], vi[k:end], mu[k:end]
				for l := range out {
					out[l] = a*xj[l] + b*xi[l] + c*xm[l]
				}
				at += end - k
			}
			r++
		}
	}
}

// Factor computes Chol; it reports false where rounding leaves V indefinite.
func (t *Moments) Factor() bool {
	copy(t.Chol, t.Cov)
	return dense.Cholesky(t.Chol, t.Shape.M())
}

// Rand draws N(nμ_t, nΣ_t) after Factor, in O(m³) and without Σ_t: with
// V = LLᵀ, g ~ N(0, I) and G symmetric normal of variance 1 off and 2 on the
// diagonal, the linear part is nμ + √n Lg, and the quadratic one
// n(V + μμᵀ) + √n (LGLᵀ + μ(Lg)ᵀ + (Lg)μᵀ). G = K + Kᵀ with K lower
// triangular, so LGLᵀ = (LK)Lᵀ + its transpose.
func (t *Moments) Rand(dst []float64, n float64, rng *rand.Rand) {
	m, root, l := t.Shape.M(), math.Sqrt(n), t.Chol
	for j := range m {
		t.g[j] = rng.NormFloat64()
		for k := range j {
			t.low[j*m+k] = rng.NormFloat64()
		}
		t.low[j*m+j] = rng.NormFloat64() * (math.Sqrt2 / 2)
		a := dense.Dot(l[j*m:j*m+j+1], t.g)
		t.lg[j] = a
		dst[j] = n*t.Mean[j] + root*a
	}
	dense.MulLower(t.low, l, t.low, m) // LK
	at := m
	for j := range m {
		mj, gj := t.Mean[j], t.lg[j]
		for k := j; k < m; k++ { // (LK Lᵀ)_jk + (LK Lᵀ)_kj
			lj, lk := l[j*m:j*m+j+1], l[k*m:k*m+j+1]
			pj, pk := t.low[j*m:j*m+j+1], t.low[k*m:k*m+j+1]
			a := mj*t.lg[k] + gj*t.Mean[k]
			for i := range lj {
				a += pj[i]*lk[i] + pk[i]*lj[i]
			}
			dst[at] = n*(t.Cov[j*m+k]+mj*t.Mean[k]) + root*a
			at++
		}
	}
}

// Law is the mean μ_t and the covariance Σ_t of one row's statistics
// t(v) = (v_j ; v_j v_k, j ≤ k), canonical order, given the parameters: all that
// the CLT's law N(nμ_t, nΣ_t) of s needs. Moments takes the moments of x from
// the parameters, FixedMoments has them from elsewhere. A Law holds a workspace,
// so each chain needs its own; none of its methods allocates.
type Law interface {
	// Set takes the parameters that the other methods speak of.
	Set(x *Params)
	// Factor prepares Rand; it reports false where rounding leaves a covariance
	// indefinite.
	Factor() bool
	// Expect writes nμ_t.
	Expect(dst []float64, n float64)
	// Covariance writes the lower triangle of nΣ_t, row-major; what stands above
	// the diagonal is left as it is.
	Covariance(dst []float64, n float64)
	// Rand draws N(nμ_t, nΣ_t), after Factor.
	Rand(dst []float64, n float64, rng *rand.Rand)
}

// RandExact draws the statistics of n rows v ~ N(μ, V) from their exact law,
// after Factor and for n > m: the sample mean is N(μ, V/n) and, independent of
// it, the scatter about that mean is Wishart(n−1, V) = LA(LA)ᵀ with V = LLᵀ and
// Bartlett's factor A.
func (t *Moments) RandExact(dst []float64, n float64, rng *rand.Rand) {
	m, l, mean := t.Shape.M(), t.Chol, t.lg
	for j := range t.g {
		t.g[j] = rng.NormFloat64() / math.Sqrt(n)
	}
	dense.MulLowerVec(mean, l, m, t.g)
	for j := range mean {
		mean[j] += t.Mean[j]
		dst[j] = n * mean[j]
	}
	variate.WishartFactor(t.low, m, n-1, rng)
	dense.MulLower(t.low, l, t.low, m) // LA
	at := m
	for j := range m {
		for k := j; k < m; k++ {
			a := n * mean[j] * mean[k]
			for i := 0; i <= j; i++ {
				a += t.low[j*m+i] * t.low[k*m+i]
			}
			dst[at] = a
			at++
		}
	}
}
