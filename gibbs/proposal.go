package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// proposal is a state and what a step proposes for it: parameters, ω² and n move at
// once, s′ waits until conclude.
type proposal struct {
	*state
	before       *model.Params // parameters, ω² and n before the step
	omega        []float64
	beforeN      float64
	propS, propR []float64 // s′ and z − s′
}

func newProposal(c *state) *proposal {
	vec := func() []float64 { return make([]float64, c.q) }
	return &proposal{state: c, before: c.law.params(), omega: vec(), propS: vec(), propR: vec()}
}

// save keeps what conclude may have to bring back.
func (k *proposal) save() {
	k.before.Copy(k.params)
	copy(k.omega, k.omega2)
	k.beforeN = k.n
}

// conclude takes s′, or takes back all that moved since save.
func (k *proposal) conclude(accepted bool) {
	if accepted {
		copy(k.s, k.propS)
		copy(k.resid, k.propR)
		return
	}
	k.params.Copy(k.before)
	copy(k.omega2, k.omega)
	k.n = k.beforeN
}

// logRatio returns log w′/w of the proposal, w = p(s | φ)/p_CLT(s | φ), where law, of
// which moments are, is at φ′; it leaves law at φ. It reports false where rounding
// leaves V indefinite.
func (k *proposal) logRatio(c *correction, moments *model.Moments) (float64, bool) {
	proposed := c.logWeight(k.propS, moments, k.n)
	k.law.Set(k.before)
	if !moments.Factor() {
		return 0, false
	}
	present := c.logWeight(k.s, moments, k.beforeN)
	if k.n != k.beforeN {
		proposed += c.logConstant(k.n)
		present += c.logConstant(k.beforeN)
	}
	return proposed - present, true
}

// enter turns to the exact target. Where s is off its support, it starts from its law
// given the parameters, and ω from its law given s.
func (k *proposal) enter(c *correction, moments *model.Moments, rng *rand.Rand) {
	k.law.Set(k.params)
	if !moments.Factor() || !math.IsInf(c.logWeight(k.s, moments, k.n), -1) {
		return
	}
	k.drawExact(moments, rng)
}

// drawExact draws s from its exact law given the parameters, and ω given that.
func (k *proposal) drawExact(moments *model.Moments, rng *rand.Rand) {
	moments.RandExact(k.s, k.n, rng)
	for i, z := range k.obs.Z {
		k.resid[i] = z - k.s[i]
	}
	k.drawOmega(rng)
}
