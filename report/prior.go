package report

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
)

// The number of laws that a density of σ is averaged over, and of θ, whose laws are alike.
const priorDraws, thetaDraws = 10_000, 1000

// priorDensities returns the marginal prior densities of a fit's θ, σ² and σ, in the
// order of Draws, in the units: the means of those given free scales a, and for θ given σ², of
// draws a_i of the prior and σ_i² at quantiles of InvGamma(a₀, b₀(a_i)),
//
//	p(θ_k) = Σ_i N(θ_k; μ₀k, V_ikk)/I,   p(σ²) = Σ_i InvGamma(σ²; a₀, b₀(a_i))/I,   p(σ) = 2σ p(σ²).
//
// It is nil where the prior cannot be stated in the units in float64.
func priorDensities(f *dpreg.Fit, u dpreg.Units) []func(float64) float64 {
	prior := f.Prior
	if u == dpreg.Original {
		var err error
		if prior, err = f.Prior.Original(f.Design.Frame()); err != nil {
			return nil
		}
	}
	mixture, rng := model.NewMixture(prior), mcmc.Stream(0, 0)
	shape := prior.Theta.Shape
	gamma := distuv.Gamma{Alpha: shape, Beta: 1}
	sds, scales := make([][]float64, thetaDraws), make([]float64, priorDraws)
	for i := range scales {
		mixture.DrawPrior(rng)
		scales[i] = mixture.Theta.Scale
		if i < thetaDraws {
			sds[i] = make([]float64, prior.Theta.Dim())
			mixture.ThetaSD(sds[i], scales[i]/gamma.Quantile((float64(i)+0.5)/thetaDraws))
		}
	}
	var densities []func(float64) float64
	for k, mean := range prior.Theta.Mean {
		densities = append(densities, func(x float64) (p float64) {
			for _, sd := range sds {
				p += distuv.Normal{Mu: mean, Sigma: sd[k]}.Prob(x) / thetaDraws
			}
			return p
		})
	}
	norm, _ := math.Lgamma(shape)
	sigma2 := func(v float64) (p float64) {
		for _, b := range scales {
			p += math.Exp(shape*math.Log(b/v)-b/v-norm) / v / priorDraws
		}
		return p
	}
	return append(densities, sigma2, func(s float64) float64 {
		if s <= 0 {
			return 0
		}
		return 2 * s * sigma2(s*s)
	})
}
