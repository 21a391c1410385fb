package exact

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpreg/dpreg/model"
)

// rows is n at x.
func (f *density) rows(x []float64) float64 {
	if f.obs.Count.Latent() {
		return f.leastRows() + f.coordinates.rows(x)
	}
	return f.obs.N
}

// leastRows is n₀: continuous n is any number above it, as the whole ones from
// Least on are the nearest to those.
func (f *density) leastRows() float64 { return f.obs.Count.Least - 0.5 }

// count returns what depends on n alone, beside what covariates and response have: the
// noise of the count, and what the integral over T leaves with c(n) and the powers of
// n in W and the Jacobian,
//
//	log p(noisy count | n) + log Γ_p(½ν_n) − log Γ_m(½(n−1)) + ½mn log n − ½n log 2.
func (f *density) count(n float64) float64 {
	logp, _ := f.noise.LogCount(n)
	m := f.obs.Shape.M()
	logp += 0.5 * n * (float64(m)*math.Log(n) - math.Ln2)
	for _, g := range f.gamma {
		v, _ := math.Lgamma(g.start + 0.5*n)
		logp += g.sign * v
	}
	return logp
}

// countSlope returns its derivative in n.
func (f *density) countSlope(n float64) float64 {
	_, slope := f.noise.LogCount(n)
	slope += 0.5 * (float64(f.obs.Shape.M())*(math.Log(n)+1) - math.Ln2)
	for _, g := range f.gamma {
		slope += 0.5 * g.sign * mathext.Digamma(g.start+0.5*n)
	}
	return slope
}

// gammaTerm is ± log Γ(start + ½n).
type gammaTerm struct{ sign, start float64 }

// gammaTerms lists the gamma functions: log Γ_k(x) = Σ_{i<k} log Γ(x − ½i) + const.
func gammaTerms(s model.Shape, dof float64) (terms []gammaTerm) {
	for i := range s.P {
		terms = append(terms, gammaTerm{1, 0.5 * (dof - float64(i))})
	}
	for i := range s.M() {
		terms = append(terms, gammaTerm{-1, -0.5 * float64(1+i)})
	}
	return terms
}
