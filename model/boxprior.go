package model

import (
	"math"

	"github.com/dpreg/dpreg/conjugate"
)

// BoxPrior is a conjugate prior for data that fill their boxes: σ² ~ InvGamma(3, 0.15),
// θ's sd in proportion to σ, 0.7 of the intercept and 0.9/√p of a slope at E σ², μ_x of
// half a row, T ~ InvWishart(0.375 I, p + 4). Studies draw their truths from it: those of
// DefaultPrior lie many boxes apart. For columns that fill little of their boxes it is wrong.
func BoxPrior(s Shape) *Prior {
	p, q := s.P, s.Q()
	const a0, b0, kappa, variance = 3, 0.15, 0.5, 0.125
	precision, scale, dof := make([]float64, q*q), make([]float64, p*p), float64(p+4)
	for k := range q {
		sd := 0.9 / math.Sqrt(float64(p))
		if s.Intercept && k == 0 {
			sd = 0.7
		}
		precision[k*q+k] = b0 / (a0 - 1) / (sd * sd)
	}
	for j := range p {
		scale[j*p+j] = variance * (dof - float64(p) - 1)
	}
	return &Prior{
		Theta:      &conjugate.NIG{Mean: make([]float64, q), Precision: precision, Shape: a0, Scale: b0},
		Covariates: &conjugate.NIW{Mean: make([]float64, p), Kappa: kappa, Scale: scale, Dof: dof},
	}
}
