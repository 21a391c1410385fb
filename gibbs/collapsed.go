package gibbs

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
)

// collapsed is the density of the unconstrained parameters φ with the latent
// statistics integrated out of the CLT model, given ω:
//
//	log π(φ) = log p(φ) − ½ log|K| − ½ eᵀK⁻¹e,  K = nΣ_t + diag ω², e = z − nμ_t.
type collapsed struct {
	*state
	unused []float64 // a gradient that value does not want
}

func newCollapsed(c *state) *collapsed {
	return &collapsed{state: c, unused: make([]float64, c.law.Dim())}
}

// value returns log π(φ). It leaves the state's parameters at φ and its factors as
// factorLatent does. Where rounding leaves a matrix indefinite it returns −∞.
func (t *collapsed) value(phi []float64) float64 {
	t.law.Constrain(t.params, phi)
	if !t.factorLatent() {
		return math.Inf(-1)
	}
	return t.law.LogPrior(t.unused, t.params) + t.logLikelihood()
}

// sloped is collapsed with a gradient, for moments of x that are fixed. It goes through
// α = K⁻¹e and W = ½(ααᵀ − K⁻¹), the derivatives in nμ_t and nΣ_t, back to φ.
type sloped struct {
	*collapsed
	law     *fixed
	inverse []float64 // K⁻¹, then W, q×q
}

// Dim returns the number of unconstrained parameters.
func (t *sloped) Dim() int { return t.law.Dim() }

// LogDensity returns log π(φ) and writes its gradient; see value.
func (t *sloped) LogDensity(grad, phi []float64) float64 {
	t.law.Constrain(t.params, phi)
	if !t.factorLatent() {
		return math.Inf(-1)
	}
	logp := t.law.LogPrior(grad, t.params) + t.logLikelihood()
	alpha := t.gain
	dense.SolveLowerT(t.chol, t.q, alpha)

	dense.InverseFromCholesky(t.inverse, t.chol, t.q)
	for i, a := range alpha {
		row := t.inverse[i*t.q : i*t.q+i+1]
		for j := range row {
			row[j] = 0.5 * (a*alpha[j] - row[j])
		}
	}
	t.law.Pullback(grad, t.params, alpha, t.inverse, t.n)
	return logp
}
