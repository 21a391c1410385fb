package gibbs

import (
	"math"
	"math/rand/v2"
)

// count moves the number of rows n where the release noised it, with the
// statistics integrated out: Metropolis on
//
//	π(n | φ, ω) ∝ p(z_n | n) N(z; nμ_t, nΣ_t + diag ω²),   n ≥ m + 1,
//
// the prior of n being flat. The step is symmetric, of a size drawn between a
// twentieth and three times the noise's scale, so that some size fits.
type count struct{ *state }

// newCount returns the move, or nil where n is public.
func newCount(c *state) *count {
	if !c.obs.Count.Latent() {
		return nil
	}
	return &count{c}
}

// countShare is how often the move takes the place of HMC where n is latent.
const countShare = 0.25

// step moves the state's n.
func (c *count) step(rng *rand.Rand) transition {
	old := c.n
	size := c.obs.Count.Scale * math.Exp(4*rng.Float64()-3)
	before := c.at(old)
	after := c.at(old + math.Copysign(math.Ceil(size*rng.ExpFloat64()), rng.Float64()-0.5))
	t := transition{logDensity: after, accept: math.Min(1, math.Exp(after-before))}
	if t.accepted = rng.Float64() < t.accept; !t.accepted {
		c.n, t.logDensity = old, before
	}
	return t
}

// at sets n and returns log π(n | φ, ω).
func (c *count) at(n float64) float64 {
	c.n = n
	prior := c.obs.Count.LogDensity(n)
	if math.IsInf(prior, -1) || !c.factorLatent() {
		return math.Inf(-1)
	}
	return prior + c.logLikelihood()
}
