package model

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
)

// regressionPrior is the prior's log density in (θ, log σ²) with free scales integrated
// out, where the Jacobian σ² is counted in. Without free scales it is
//
//	log p = −(a₀ + q/2) log σ² − (b₀ + ½(θ−μ₀)ᵀΛ₀(θ−μ₀))/σ²,
//	log p = −a₀ log σ² − b₀/σ² − ½(θ−μ₀)ᵀΛ₀(θ−μ₀) where Unscaled.
//
// A free scale takes its energy e of that and has −k log Q in place of −e, see Mixture; the
// gradient is that of −we, w = k/Q = E[1/a | θ, σ²].
type regressionPrior struct {
	*Prior
	q     int
	fixed []float64 // the part of Λ₀ that no free scale divides
	free  bool      // b₀ is divided by one
	e     []float64 // θ − μ₀
	le    []float64 // Λ₀(θ − μ₀)
}

func newRegressionPrior(prior *Prior) regressionPrior {
	q := prior.Theta.Dim()
	return regressionPrior{prior, q, prior.fixed(), prior.free(false), make([]float64, q), make([]float64, q)}
}

// logDensity returns log p up to a constant and writes its gradient.
func (r *regressionPrior) logDensity(grad []float64, x *Params) float64 {
	q := r.q
	for k := range r.e {
		r.e[k] = x.Theta[k] - r.Theta.Mean[k]
	}
	shape, scale, c := r.Theta.Shape+0.5*float64(q), r.Theta.Scale, x.Sigma2
	if r.Unscaled {
		shape, c = r.Theta.Shape, 1
	}
	if r.free {
		scale = 0
	}
	dense.SymMulVec(r.le, r.fixed, q, r.e)
	quad := 0.0
	for k, v := range r.le {
		grad[k] = -v / c
		quad += v * r.e[k]
	}
	apart := 0.0
	if r.Unscaled {
		quad, apart = 0, 0.5*quad
	}
	energy := (scale + 0.5*quad) / x.Sigma2
	grad[q] = energy - shape
	logp := -shape*math.Log(x.Sigma2) - energy - apart
	for i := range r.Scales {
		if s := &r.Scales[i]; len(s.Covariates) == 0 {
			logp += r.addScale(grad, s, x.Sigma2, c)
		}
	}
	return logp
}

// addScale returns −k log Q of a scale and adds its gradient.
func (r *regressionPrior) addScale(grad []float64, s *Scale, sigma2, c float64) float64 {
	energy := r.Theta.Scale / sigma2
	if !s.Sigma {
		energy = 0.5 * s.square(r.e) / c
	}
	k, sum := r.Exponent(s), s.Rate()+energy
	w, n := k/sum, len(s.Coefficients)
	for i, at := range s.Coefficients {
		for j, from := range s.Coefficients {
			grad[at] -= w * s.Precision[i*n+j] * r.e[from] / c
		}
	}
	if s.Sigma || !r.Unscaled {
		grad[r.q] += w * energy
	}
	return -k * math.Log(sum)
}

// RegressionCoordinates are (θ, log σ²), the unconstrained coordinates of a model
// whose only parameters these are; see Coordinates.
type RegressionCoordinates struct{ prior regressionPrior }

// NewRegressionCoordinates builds the map for a prior.
func NewRegressionCoordinates(prior *Prior) *RegressionCoordinates {
	return &RegressionCoordinates{newRegressionPrior(prior)}
}

// Dim returns q + 1.
func (c *RegressionCoordinates) Dim() int { return c.prior.q + 1 }

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
