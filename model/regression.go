package model

import (
	"math"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
)

// regressionPrior is the NIG prior's log density in (θ, log σ²),
//
//	log p = −(a₀ + q/2) log σ² − (b₀ + ½(θ−μ₀)ᵀΛ₀(θ−μ₀))/σ²,
//
// where the Jacobian σ² is counted in.
type regressionPrior struct {
	*conjugate.NIG
	e  []float64 // θ − μ₀
	le []float64 // Λ₀(θ − μ₀)
}

func newRegressionPrior(d *conjugate.NIG) regressionPrior {
	return regressionPrior{d, make([]float64, d.Dim()), make([]float64, d.Dim())}
}

// logDensity returns log p up to a constant and writes its gradient.
func (r *regressionPrior) logDensity(grad []float64, x *Params) float64 {
	q := len(r.e)
	for k := range r.e {
		r.e[k] = x.Theta[k] - r.Mean[k]
	}
	dense.SymMulVec(r.le, r.Precision, q, r.e)
	quad := 0.0
	for k, v := range r.le {
		grad[k] = -v / x.Sigma2
		quad += v * r.e[k]
	}
	shape, energy := r.Shape+0.5*float64(q), (r.Scale+0.5*quad)/x.Sigma2
	grad[q] = energy - shape
	return -shape*math.Log(x.Sigma2) - energy
}

// RegressionCoordinates are (θ, log σ²), the unconstrained coordinates of a model
// whose only parameters these are; see Coordinates.
type RegressionCoordinates struct{ prior regressionPrior }

// NewRegressionCoordinates builds the map for a prior.
func NewRegressionCoordinates(prior *Prior) *RegressionCoordinates {
	return &RegressionCoordinates{newRegressionPrior(prior.Theta)}
}

// Dim returns q + 1.
func (c *RegressionCoordinates) Dim() int { return len(c.prior.e) + 1 }

// Unconstrain writes φ of x; it always can.
func (c *RegressionCoordinates) Unconstrain(phi []float64, x *Params) bool {
	phi[copy(phi, x.Theta)] = math.Log(x.Sigma2)
	return true
}

// Constrain writes the parameters of φ into x.
func (c *RegressionCoordinates) Constrain(x *Params, phi []float64) {
	q := copy(x.Theta, phi)
	x.Sigma2 = math.Exp(phi[q])
}

// LogPrior returns log p(φ) up to a constant, at the parameters x of φ, and
// writes its gradient.
func (c *RegressionCoordinates) LogPrior(grad []float64, x *Params) float64 {
	return c.prior.logDensity(grad, x)
}
