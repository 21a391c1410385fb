package model

import "github.com/dpreg/dpreg/internal/dense"

// Projection maps statistics s that no data could have to the nearest that
// some could: n and the linear sums s₁ stay, the eigenvalues of the scatter
// A = S − s₁s₁ᵀ/n are clipped at 0 (the projection of A onto the PSD cone in
// Frobenius norm). B is PSD if and only if A is, by the Schur complement.
type Projection struct {
	m       int
	scatter []float64
	factor  []float64
	vectors []float64
	values  []float64
	work    []float64
}

// NewProjection allocates for m columns.
func NewProjection(m int) *Projection {
	square := func() []float64 { return make([]float64, m*m) }
	return &Projection{m: m, scatter: square(), factor: square(), vectors: square(),
		values: make([]float64, m), work: make([]float64, m*m)}
}

// Apply projects s, canonical order, of n rows in place and reports whether it
// had to.
func (p *Projection) Apply(s []float64, n float64) bool {
	m := p.m
	Scatter(p.scatter, s, m, n)
	copy(p.factor, p.scatter)
	if dense.Cholesky(p.factor, m) {
		return false
	}
	dense.SymEigen(p.values, p.vectors, p.scatter, m, p.work)
	clipped := false
	for i, v := range p.values {
		if v < 0 {
			p.values[i], clipped = 0, true
		}
	}
	if !clipped {
		return false
	}
	at := m
	for j := range m {
		for k := j; k < m; k++ {
			a := 0.0
			for i, v := range p.values {
				a += v * p.vectors[j*m+i] * p.vectors[k*m+i]
			}
			s[at] = a + s[j]*s[k]/n
			at++
		}
	}
	return true
}

// Scatter writes A = S − s₁s₁ᵀ/n, m×m row-major, from s in canonical order.
func Scatter(dst, s []float64, m int, n float64) {
	at := m
	for j := range m {
		mean := s[j] / n
		for k := j; k < m; k++ {
			a := s[at] - mean*s[k]
			dst[j*m+k], dst[k*m+j] = a, a
			at++
		}
	}
}
