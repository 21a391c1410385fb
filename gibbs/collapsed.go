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
	alpha   []float64 // q
	inverse []float64 // K⁻¹, then W, q×q
	gMean   []float64 // m
	gCov    []float64 // m×m
}

func newCollapsed(c *state) *collapsed {
	m := c.obs.Shape.M()
	return &collapsed{
		state: c, coords: model.NewCoordinates(c.obs.Shape, c.prior),
		alpha: make([]float64, c.q), inverse: make([]float64, c.q*c.q),
		gMean: make([]float64, m), gCov: make([]float64, m*m),
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
	dense.SolveLowerT(t.chol, t.q, t.alpha)

	dense.InverseFromCholesky(t.inverse, t.chol, t.q)
	for i, a := range t.alpha {
		row := t.inverse[i*t.q : i*t.q+i+1]
		for j := range row {
			row[j] = 0.5 * (a*t.alpha[j] - row[j])
		}
	}
	clear(t.gMean)
	clear(t.gCov)
	t.moments.Adjoint(t.gMean, t.gCov, t.alpha, t.inverse, t.obs.N)
	t.coords.Pullback(grad, t.params, t.gMean, t.gCov)
	return logp
}

// logLikelihood returns log N(z; nμ_t, K) up to a constant, after
// factorLatent; it leaves in alpha the solution of Lα = e, K = LLᵀ.
func (t *collapsed) logLikelihood() float64 {
	t.moments.Expect(t.alpha, t.obs.N)
	for i, z := range t.obs.Z {
		t.alpha[i] = z - t.alpha[i]
	}
	dense.SolveLower(t.chol, t.q, t.alpha)
	quad := 0.0
	for _, a := range t.alpha {
		quad += a * a
	}
	return -0.5 * (dense.LogDet(t.chol, t.q) + quad)
}
