package model

import (
	"math"
	"math/rand/v2"
)

// Kurtosis is the prior of the kurtosis κ of the residuals: log(κ − 1) is uniform between those of
// Least and Most. The zero value is κ = 3, of normal residuals.
//
// Sums hold no fourth moment, and κ says how far the squares of n rows stray from σ². With residuals e
//
//	E Σe² = nσ²,   Var Σe² = n(κ − 1)σ⁴.
//
// So the rows have normal residuals of a variance of their own, σ²w, w of mean 1:
//
//	log w ~ N(−½v, v),   v = log(1 + V),   V = (κ − 3)/(n + 2),
//
// whose Σe² = σ²wχ²_n has these two moments. z tells σ²w, and nothing of κ.
type Kurtosis struct {
	Least, Most float64
	Rows        float64 // n, as published, of a problem (Prior.OfRows); of none w is 1
}

// newKurtosis is from the least to the most, both from 3 on.
func newKurtosis(least, most float64) Kurtosis {
	if most == 3 {
		return Kurtosis{}
	}
	return Kurtosis{Least: least, Most: most}
}

// Normal reports whether w is 1.
func (k Kurtosis) Normal() bool { return !(k.Most > 3 && k.Rows > 0) }

// ends are the least and the most as they are written.
func (k Kurtosis) ends() (least, most float64) { return max(3, k.Least), max(3, k.Most) }

// Rand draws log w.
func (k Kurtosis) Rand(rng *rand.Rand) float64 {
	if k.Normal() {
		return 0
	}
	squares := (k.Least - 1) * math.Pow((k.Most-1)/(k.Least-1), rng.Float64()) // κ − 1
	v := math.Log1p((squares - 2) / (k.Rows + 2))
	return math.Sqrt(v)*rng.NormFloat64() - 0.5*v
}

// Apply takes parameters of the population to those of rows.
func (k Kurtosis) Apply(x *Params, rng *rand.Rand) {
	x.LogW = k.Rand(rng)
	x.Sigma2 *= math.Exp(x.LogW)
}

// Variance is that of w, V averaged over κ.
func (k Kurtosis) Variance() float64 {
	if k.Normal() {
		return 0
	}
	mean := 1.0 // of (κ − 1)/(Least − 1)
	if ratio := (k.Most - 1) / (k.Least - 1); ratio > 1 {
		mean = (ratio - 1) / math.Log(ratio)
	}
	return (mean*(k.Least-1) - 2) / (k.Rows + 2)
}

// Renew moves w in a chain of Hamiltonian dynamics, a nuts.Sampler, whose target has it at logW. It
// reports whether w moved, and the target's density was last taken where the chain stands.
func (k Kurtosis) Renew(logW *float64, chain interface {
	Position() []float64
	Try([]float64, *rand.Rand) bool
}, rng *rand.Rand) bool {
	if k.Normal() {
		return false
	}
	was := *logW
	*logW = k.Rand(rng)
	if chain.Try(chain.Position(), rng) {
		return true
	}
	*logW = was
	return false
}

// boundedKurtosis is that of a column in [−1, 1] with this mean m and sd s. With r = 1 + |m| and
// d = 1 − |m| no value is farther from m than r, and the skewness away from the nearer bound is at least
// γ = s/d − d/s, so that
//
//	1 + max(γ, 0)² ≤ κ ≤ r²/s².
//
// Below 3 squares stray less than those of normal residuals, which stand for it.
func boundedKurtosis(m, s float64) Kurtosis {
	r, d := 1+math.Abs(m), 1-math.Abs(m)
	s = min(s, math.Sqrt(r*d))
	skew := max(0, s/d-d/s)
	if k := (Kurtosis{Least: max(3, 1+skew*skew), Most: r * r / (s * s)}); k.Most > k.Least {
		return k
	}
	return Kurtosis{}
}
