package exact

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpreg/dpreg/model"
)

// rows is n at ψ.
func (f *density) rows(psi []float64) float64 {
	if f.obs.Count.Latent() {
		return f.leastRows() + math.Exp(psi[len(f.obs.Z)])
	}
	return f.obs.N
}

// leastRows is n₀: continuous n is any number above it, as the whole ones from
// Least on are the nearest to those.
func (f *density) leastRows() float64 { return f.obs.Count.Least - 0.5 }

// count returns what depends on n alone,
//
//	log p(noisy count | n) + log Γ_p(½ν_n) + log Γ(a_n) − log Γ_m(½(n−1)) + ½mn log n.
func (f *density) count(n float64) float64 {
	logp, _ := f.noise.LogCount(n)
	m := f.obs.Shape.M()
	logp += 0.5 * float64(m) * n * math.Log(n)
	for _, g := range f.gamma {
		v, _ := math.Lgamma(g.start + 0.5*n)
		logp += g.sign * v
	}
	return logp
}

// countSlope returns its derivative in n, and that of log p(s | n) through B at
// fixed ψ: B is proportional to n.
func (f *density) countSlope(n float64) float64 {
	t, k := f.statistics, f.obs.Shape.M()+1
	_, slope := f.noise.LogCount(n)
	slope += 0.5 * float64(k-1) * (math.Log(n) + 1)
	for _, g := range f.gamma {
		slope += 0.5 * g.sign * mathext.Digamma(g.start+0.5*n)
	}
	for i := range k {
		for j := range i {
			slope += 2 * f.e[i*k+j] * t.b[i*k+j] / n
		}
		slope += f.e[i*k+i] * t.b[i*k+i] / n
	}
	return slope
}

// gammaTerm is ± log Γ(start + ½n).
type gammaTerm struct{ sign, start float64 }

// gammaTerms lists the gamma functions: log Γ_k(x) = Σ_{i<k} log Γ(x − ½i) + const.
func gammaTerms(s model.Shape, prior *model.Prior) []gammaTerm {
	terms := []gammaTerm{{1, prior.Theta.Shape}}
	for i := range s.P {
		terms = append(terms, gammaTerm{1, 0.5 * (prior.Covariates.Dof - float64(i))})
	}
	for i := range s.M() {
		terms = append(terms, gammaTerm{-1, -0.5 * float64(1+i)})
	}
	return terms
}
