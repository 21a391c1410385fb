package exact

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// evidence is the part of log p(s) that one conjugate prior leaves when its
// parameters are integrated out. A prior is worth rows of its own, a matrix A₀
// beside B = Σ aaᵀ, a = (1, x, y). With LLᵀ = A₀ + B_I, the rows and columns I of
// B that it knows of,
//
//	log evidence = −Σ_i w_i log L_ii + const.
//
// For θ, σ² ~ NIG(μ₀, Λ₀, a₀, b₀), I those of θ's columns and y:
//
//	A₀ = [ Λ₀     Λ₀μ₀          ]    A₀ + B_I has the Schur complement 2b_n, so
//	     [ μ₀ᵀΛ₀  μ₀ᵀΛ₀μ₀ + 2b₀ ]    |Λ_n|^{−1/2} b_n^{−a_n}:  w = (1, …, 1, 2a_n).
//
// For (μ_x, T) ~ NIW(m₀, κ₀, Ψ₀, ν₀), I the constant and x:
//
//	A₀ = [ κ₀    κ₀m₀ᵀ         ]     the Schur complement of κ_n is Ψ_n, so
//	     [ κ₀m₀  Ψ₀ + κ₀m₀m₀ᵀ  ]     κ_n^{−p/2} |Ψ_n|^{−ν_n/2}:  w = (p, ν_n, …, ν_n).
type evidence struct {
	first   int       // I is first, first+1, … of B's rows
	k       int       // its size
	prior   []float64 // A₀, k×k, lower triangle
	weights []float64 // w at n = 0
	perRow  []float64 // and what each row adds

	chol, inv []float64 // L, L⁻¹
}

func newEvidence(first, k int) *evidence {
	square := func() []float64 { return make([]float64, k*k) }
	vec := func() []float64 { return make([]float64, k) }
	return &evidence{first: first, k: k, prior: square(), weights: vec(), perRow: vec(), chol: square(), inv: square()}
}

// regressionEvidence is that of θ and σ².
func regressionEvidence(s model.Shape, prior *model.Prior) *evidence {
	q, d := s.Q(), prior.Theta
	e := newEvidence(s.M()-q, q+1)
	k := e.k
	for i := range q {
		copy(e.prior[i*k:i*k+q], d.Precision[i*q:i*q+q])
		sum := 0.0
		for j, v := range d.Precision[i*q : i*q+q] {
			sum += v * d.Mean[j]
		}
		e.prior[q*k+i] = sum
		e.prior[q*k+q] += sum * d.Mean[i]
		e.weights[i] = 1
	}
	e.prior[q*k+q] += 2 * d.Scale
	e.weights[q], e.perRow[q] = 2*d.Shape, 1
	return e
}

// covariateEvidence is that of μ_x and T.
func covariateEvidence(s model.Shape, prior *model.Prior) *evidence {
	p, d := s.P, prior.Covariates
	e := newEvidence(0, p+1)
	k := e.k
	e.prior[0], e.weights[0] = d.Kappa, float64(p)
	for i := range p {
		row := e.prior[(i+1)*k:]
		row[0] = d.Kappa * d.Mean[i]
		for j := range p {
			row[j+1] = d.Scale[i*p+j] + d.Kappa*d.Mean[i]*d.Mean[j]
		}
		e.weights[i+1], e.perRow[i+1] = d.Dof, 1
	}
	return e
}

// add returns the log evidence of B, d×d of which the lower triangle is read,
// and its derivative in n at fixed B; it adds to grad's lower triangle the
// symmetric matrix E with d log evidence = Σ_ij E_ij dB_ij:
//
//	E = −½ L⁻ᵀ diag(w) L⁻¹.
//
// It reports false where rounding leaves A₀ + B_I indefinite.
func (e *evidence) add(grad, b []float64, d int, n float64) (logp, byN float64, ok bool) {
	k := e.k
	for i := range k {
		from := b[(e.first+i)*d+e.first:]
		for j := range i + 1 {
			e.chol[i*k+j] = e.prior[i*k+j] + from[j]
		}
	}
	if !dense.Cholesky(e.chol, k) {
		return 0, 0, false
	}
	dense.InvertLower(e.inv, e.chol, k)
	for r := range k {
		w := e.weights[r] + n*e.perRow[r]
		log := math.Log(e.chol[r*k+r])
		logp -= w * log
		byN -= e.perRow[r] * log
		row := e.inv[r*k : r*k+r+1]
		for i, v := range row {
			to, c := grad[(e.first+i)*d+e.first:], -0.5*w*v
			for j := range i + 1 {
				to[j] += c * row[j]
			}
		}
	}
	return logp, byN, true
}
