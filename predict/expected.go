package predict

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/posterior"
)

// expected is the posterior of g(θᵀa) at a in scaled units, the probability of 1 in which the
// predictive law of a response that is 0 or 1 consists, or the rate of a count: mean, sd and equal-tailed interval over
// draws, each of which has a new custodian with an η of its own, as load has σ_new.
func (p *Predictor) expected(a []float64) (out Prediction) {
	q := len(a)
	g := make([]float64, len(p.theta)/q)
	for i := range g {
		eta := 0.0
		for j, v := range p.theta[i*q : (i+1)*q] {
			eta += v * a[j]
		}
		if p.omega != nil {
			eta += math.Sqrt(p.between(i, a)) * normalAt(i)
		}
		g[i] = p.family.Mean(eta)
		out.Fitted += g[i] / float64(len(g))
	}
	for _, v := range g {
		out.SD += (v - out.Fitted) * (v - out.Fitted) / float64(max(len(g)-1, 1))
	}
	out.SD = math.Sqrt(out.SD)
	slices.Sort(g)
	tail := (1 - p.level) / 2
	out.Lower, out.Upper = posterior.Quantile(g, tail), posterior.Quantile(g, 1-tail)
	return out
}
