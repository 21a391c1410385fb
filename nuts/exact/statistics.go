package exact

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
)

// statistics are s in coordinates that range over all of R^q, whatever data could
// have:
//
//	ψ = (v̄, lower triangle of P row by row),  scatter about v̄ W = n DDᵀ,
//	P_ii = log D_ii,  P_ij = D_ij/D_jj, i > j:
//
// the mean, and of each column given those before it the spread and the
// coefficients. A coordinate keeps its scale whatever the number of rows.
type statistics struct {
	m    int
	n    float64
	mean []float64 // v̄
	d    []float64 // D, m×m, zero above the diagonal
	b    []float64 // B = Σ aaᵀ, a = (1, v), (m+1)×(m+1), lower triangle
}

func newStatistics(m int) *statistics {
	return &statistics{m: m, mean: make([]float64, m), d: make([]float64, m*m), b: make([]float64, (m+1)*(m+1))}
}

// set takes the statistics of ψ.
func (t *statistics) set(psi []float64, n float64) {
	m := t.m
	k := m + 1
	t.n = n
	at := copy(t.mean, psi[:m])
	for i := range m {
		p, dii := psi[at:at+i], math.Exp(psi[at+i])
		row := t.d[i*m : i*m+i+1]
		for j, v := range p {
			row[j] = v * t.d[j*m+j]
		}
		row[i] = dii
		at += i + 1
	}
	t.b[0] = n
	for i, u := range t.mean {
		row, nu := t.b[(i+1)*k:], n*u
		row[0] = nu
		for j := range i + 1 {
			w := 0.0
			di, dj := t.d[i*m:i*m+j+1], t.d[j*m:j*m+j+1]
			for l, v := range di {
				w += v * dj[l]
			}
			row[j+1] = n*w + nu*t.mean[j]
		}
	}
}

// vector writes s in canonical order.
func (t *statistics) vector(s []float64) {
	k, at := t.m+1, t.m
	for j := range t.m {
		s[j] = t.b[(j+1)*k]
		for l := j; l < t.m; l++ {
			s[at] = t.b[(l+1)*k+j+1]
			at++
		}
	}
}

// pull writes the gradient in ψ of a function with df = Σ_ij E_ij dB_ij, E
// symmetric and its lower triangle given:
//
//	∂v̄ = 2n (E_v0 + E_vv v̄),  ∂D = 2n E_vv D,
//
// and the derivatives in P follow from D_ij = P_ij D_jj.
func (t *statistics) pull(grad, e []float64) {
	m := t.m
	k, n2 := m+1, 2*t.n
	for i := range m { // the other triangle, and ∂v̄
		for j := range i {
			e[(j+1)*k+i+1] = e[(i+1)*k+j+1]
		}
	}
	for i := range m {
		row := e[(i+1)*k : (i+2)*k]
		sum := row[0]
		for j, u := range t.mean {
			sum += row[j+1] * u
		}
		grad[i] = n2 * sum
	}
	clear(grad[m : m+m*(m+1)/2])
	at := m
	for i := range m {
		row := e[(i+1)*k+1 : (i+2)*k]
		for j := range i + 1 {
			g := 0.0
			for l := j; l < m; l++ {
				g += row[l] * t.d[l*m+j]
			}
			g *= n2
			grad[diagonal(m, j)] += g * t.d[i*m+j]
			if j < i {
				grad[at] = g * t.d[j*m+j]
			}
			at++
		}
	}
}

// diagonal is the position in ψ of P_ii.
func diagonal(m, i int) int { return m + i*(i+1)/2 + i }

// coordinates writes ψ of statistics s, canonical order, of n rows; it reports
// false where no n rows have these, or their scatter is singular.
func (t *statistics) coordinates(psi, s []float64, n float64) bool {
	m := t.m
	for j := range m {
		psi[j] = s[j] / n
	}
	at := m
	for j := range m {
		for l := j; l < m; l++ {
			t.d[l*m+j] = s[at]/n - psi[j]*psi[l]
			at++
		}
	}
	if !dense.Cholesky(t.d, m) {
		return false
	}
	at = m
	for i := range m {
		for j := range i {
			psi[at] = t.d[i*m+j] / t.d[j*m+j]
			at++
		}
		psi[at] = math.Log(t.d[i*m+i])
		at++
	}
	return true
}
