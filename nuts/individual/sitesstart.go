package individual

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// start writes a point to start from: of each release z with noise drawn anew,
// projected; the parameters from their conjugate laws given these; residuals from
// theirs. Where pooling is partial each (θ_j, σ_j) is from its release alone, θ and log σ² are the
// means over releases, and Ω is from about its prior. It reports false where the parameters
// cannot be computed with.
func (f *sites) start(t *model.Joint, x []float64, rng *rand.Rand) bool {
	q, rows := t.Shape.Statistics(), 0.0
	total, params := make([]float64, q), model.NewParams(t.Shape)
	theta, sigma2 := make([]float64, f.theta), 0.0
	conditionals, projection := model.NewConditionals(t.Shape, t.Prior, true), model.NewProjection(t.Shape.M())
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for j, site := range t.Sites {
		s := make([]float64, q)
		for i, z := range site.Z {
			s[i] = z + site.Scale[i]*rng.NormFloat64()
		}
		projection.Apply(s, site.N)
		site.Units.Common(s, s, site.N)
		for i, v := range s {
			total[i] += v
		}
		rows += site.N
		k := f.all[j]
		if !conditionals.Draw(params, s, site.N, rng) || !k.hub.Unconstrain(k.phi, params) {
			return false
		}
		copy(f.part(x, j).covariates, k.phi[f.base:])
		if t.Partial {
			k.pooled.Take(params)
			addTo(theta, 1/float64(len(t.Sites)), params.Theta)
			sigma2 += math.Log(params.Sigma2) / float64(len(t.Sites))
		}
	}
	if !conditionals.Draw(params, total, rows, rng) {
		return false
	}
	if t.Partial {
		copy(params.Theta, theta)
		params.Sigma2 = math.Exp(sigma2)
		f.hub.Spread.Start(x[f.base:f.lead], rng)
	}
	if !f.hub.Unconstrain(x[:f.lead], params) {
		return false
	}
	if t.Partial {
		f.hold(x)
	}
	return true
}
