package model

import "github.com/dpreg/dpreg/internal/dense"

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
	q := statistics(m)
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
	q := statistics(m)
	at := t.line[i]
	t.z[0] = 0
	for k := 1; k < d; k++ {
		t.z[k] = w[lower(q, at, t.stat[k])]
	}
	dense.SymMulVec(dst, t.f, d, t.z[:d])
	for j := range m + 1 {
		v := w[lower(q, at, t.line[j])]
		for k, f := range t.rf[j*d : (j+1)*d] {
			dst[k] += v * f
		}
	}
	for k, u := range t.mean {
		dst[k] = n * (2*dst[k] + alpha*u)
	}
}
