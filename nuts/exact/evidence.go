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
//	log evidence = −Σ_i w_i log L_ii + const,
//
// where the first pivots share one weight and the others another.
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
	first   int        // I is first, first+1, … of B's rows
	k       int        // its size
	prior   []float64  // A₀, k×k, lower triangle
	parts   [2]pivots  // those of the first weight, and of the second
	weights [2]float64 // at n = 0
	perRow  [2]float64 // and what each row adds

	n         float64   // that of w
	w         []float64 // of each pivot
	chol, inv []float64 // L, L⁻¹

	product, log [2]float64 // Π L_ii of each weight at the last point, and its logarithm
}

// pivots are L_ii, from ≤ i < to.
type pivots struct{ from, to int }

func newEvidence(first, k, lead int) *evidence {
	square := func() []float64 { return make([]float64, k*k) }
	return &evidence{first: first, k: k, parts: [2]pivots{{0, lead}, {lead, k}}, prior: square(),
		w: make([]float64, k), chol: square(), inv: square(), product: [2]float64{1, 1}}
}

// regressionEvidence is that of θ and σ².
func regressionEvidence(s model.Shape, prior *model.Prior) *evidence {
	q, d := s.Q(), prior.Theta
	e := newEvidence(s.M()-q, q+1, q)
	k := e.k
	for i := range q {
		copy(e.prior[i*k:i*k+q], d.Precision[i*q:i*q+q])
		sum := 0.0
		for j, v := range d.Precision[i*q : i*q+q] {
			sum += v * d.Mean[j]
		}
		e.prior[q*k+i] = sum
		e.prior[q*k+q] += sum * d.Mean[i]
	}
	e.prior[q*k+q] += 2 * d.Scale
	e.weights, e.perRow[1] = [2]float64{1, 2 * d.Shape}, 1
	return e
}

// covariateEvidence is that of μ_x and T.
func covariateEvidence(s model.Shape, prior *model.Prior) *evidence {
	p, d := s.P, prior.Covariates
	e := newEvidence(0, p+1, 1)
	k := e.k
	e.prior[0] = d.Kappa
	for i := range p {
		row := e.prior[(i+1)*k:]
		row[0] = d.Kappa * d.Mean[i]
		for j := range p {
			row[j+1] = d.Scale[i*p+j] + d.Kappa*d.Mean[i]*d.Mean[j]
		}
	}
	e.weights, e.perRow[1] = [2]float64{float64(p), d.Dof}, 1
	return e
}

// at returns the log evidence of B, d×d of which the lower triangle is read, of n
// rows, and its derivative in n at fixed B. It reports false where rounding leaves
// A₀ + B_I indefinite.
func (e *evidence) at(b []float64, d int, n float64) (logp, byN float64, ok bool) {
	k := e.k
	for i := range k {
		from := b[(e.first+i)*d+e.first:]
		for j := range i + 1 {
			e.chol[i*k+j] = e.prior[i*k+j] + from[j]
		}
	}
	if !e.factor() {
		return 0, 0, false
	}
	e.weigh(n)
	for part := range e.parts {
		log := e.logPivots(part)
		logp -= e.w[e.parts[part].from] * log
		byN -= e.perRow[part] * log
	}
	return logp, byN, true
}

// weigh sets w.
func (e *evidence) weigh(n float64) {
	if n == e.n {
		return
	}
	e.n = n
	for part, r := range e.parts {
		for i := r.from; i < r.to; i++ {
			e.w[i] = e.weights[part] + n*e.perRow[part]
		}
	}
}

// addSlope adds to grad's lower triangle the symmetric matrix E with
// d log evidence = Σ_ij E_ij dB_ij where at was last:
//
//	E = −½ L⁻ᵀ diag(w) L⁻¹.
func (e *evidence) addSlope(grad []float64, d int) {
	k := e.k
	grad = grad[e.first*(d+1):]
	for r, w := range e.w {
		row := e.inv[r*k : r*k+r+1]
		for i, v := range row {
			c := -0.5 * w * v
			to := grad[i*d : i*d+i+1]
			for j, u := range row[:len(to)] {
				to[j] += c * u
			}
		}
	}
}

// fewColumns is the size up to which the loops of factor are quicker than calls.
const fewColumns = 4

// factor computes L and L⁻¹ of what stands in chol.
func (e *evidence) factor() bool {
	k := e.k
	if k > fewColumns {
		if !dense.Cholesky(e.chol, k) {
			return false
		}
		dense.InvertLower(e.inv, e.chol, k)
		return true
	}
	for i := range k {
		row, inv := e.chol[i*k:i*k+i+1], e.inv[i*k:i*k+i+1]
		pivot := row[i]
		for j := range i {
			sum := row[j]
			for l, v := range e.chol[j*k : j*k+j] {
				sum -= row[l] * v
			}
			row[j] = sum * e.inv[j*k+j]
			pivot -= row[j] * row[j]
		}
		if !(pivot > 0) {
			return false
		}
		row[i] = math.Sqrt(pivot)
		inv[i] = 1 / row[i]
		for j := range i {
			sum := 0.0
			for l := j; l < i; l++ {
				sum += row[l] * e.inv[l*k+j]
			}
			inv[j] = -inv[i] * sum
		}
	}
	return true
}

// logPivots returns Σ log L_ii over the pivots of one weight. It remembers the last:
// κ_n is the same at all points, unless n is latent.
func (e *evidence) logPivots(part int) float64 {
	log, product := 0.0, 1.0
	for i := e.parts[part].from; i < e.parts[part].to; i++ {
		if product *= e.chol[i*e.k+i]; !(product > 1e-200 && product < 1e200) {
			log, product = log+math.Log(product), 1
		}
	}
	if product != e.product[part] {
		e.product[part], e.log[part] = product, math.Log(product)
	}
	return log + e.log[part]
}
