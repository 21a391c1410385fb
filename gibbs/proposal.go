package gibbs

import (
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
