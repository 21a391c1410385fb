package report

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg"
)

// priorDensities returns the marginal prior densities of a fit's θ, σ² and σ, in the
// order of Draws, in the units. With σ² ~ InvGamma(a, b) and
// θ | σ² ~ N(μ, σ²Λ⁻¹),
//
//	θ_j ~ Student t with 2a degrees of freedom, location μ_j, scale √(b/a (Λ⁻¹)_jj),
//	p(σ) = 2σ p(σ²).
//
// It is nil where the prior cannot be stated in the units, or inverted, in float64.
func priorDensities(f *dpreg.Fit, u dpreg.Units) []func(float64) float64 {
	prior := f.Prior
	if u == dpreg.Original {
		var err error
		if prior, err = f.Prior.Original(f.Design.Frame()); err != nil {
			return nil
		}
	}
	theta := prior.Theta
	q := theta.Dim()
	var factor mat.Cholesky
	var inverse mat.SymDense
	if !factor.Factorize(mat.NewSymDense(q, append([]float64(nil), theta.Precision...))) || factor.InverseTo(&inverse) != nil {
		return nil
	}
	var densities []func(float64) float64
	for j, mean := range theta.Mean {
		scale := math.Sqrt(theta.Scale / theta.Shape * inverse.At(j, j))
		densities = append(densities, distuv.StudentsT{Mu: mean, Sigma: scale, Nu: 2 * theta.Shape}.Prob)
	}
	sigma2 := distuv.InverseGamma{Alpha: theta.Shape, Beta: theta.Scale}
	return append(densities, sigma2.Prob, func(s float64) float64 {
		if s <= 0 {
			return 0
		}
		return 2 * s * sigma2.Prob(s*s)
	})
}
