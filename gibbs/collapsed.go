package gibbs

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// collapsed is the density of the unconstrained parameters φ with the latent
// statistics integrated out of the CLT model, given ω:
//
//	log π(φ) = log p(φ) − ½ log|K| − ½ eᵀK⁻¹e,  K = nΣ_t + diag ω², e = z − nμ_t.
//
// Its gradient goes through α = K⁻¹e and W = ½(ααᵀ − K⁻¹), which are the
// derivatives in nμ_t and nΣ_t, back to (μ, V) and from there to φ.
type collapsed struct {
	*state
	coords  *model.Coordinates
	inverse []float64 // K⁻¹, then W, q×q
	gMean   []float64 // m
	gCov    []float64 // m×m
}

func newCollapsed(c *state) *collapsed {
	m := c.obs.Shape.M()
	return &collapsed{
		state: c, coords: model.NewCoordinates(c.obs.Shape, c.prior),
		inverse: make([]float64, c.q*c.q),
		gMean:   make([]float64, m), gCov: make([]float64, m*m),
	}
}

// Dim returns the number of unconstrained parameters.
func (t *collapsed) Dim() int { return t.coords.Dim() }

// LogDensity returns log π(φ) and writes its gradient. It leaves the state's
// parameters at φ and its factors as factorLatent does. Where rounding leaves
// a matrix indefinite it returns −∞.
func (t *collapsed) LogDensity(grad, phi []float64) float64 {
	t.coords.Constrain(t.params, phi)
	if !t.factorLatent() {
		return math.Inf(-1)
	}
	logp := t.coords.LogPrior(grad, t.params) + t.logLikelihood()
	alpha := t.gain
	dense.SolveLowerT(t.chol, t.q, alpha)

	dense.InverseFromCholesky(t.inverse, t.chol, t.q)
	for i, a := range alpha {
		row := t.inverse[i*t.q : i*t.q+i+1]
		for j := range row {
			row[j] = 0.5 * (a*alpha[j] - row[j])
		}
	}
	clear(t.gMean)
	clear(t.gCov)
	t.moments.Adjoint(t.gMean, t.gCov, alpha, t.inverse, t.n)
	t.coords.Pullback(grad, t.params, t.gMean, t.gCov)
	return logp
}
