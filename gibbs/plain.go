package gibbs

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// plain is the sweep of Bernstein & Sheldon (2019, Algorithm 2) as published:
//
//	s | θ, σ², μ_x, T, ω, z    from the CLT's normal law
//	s projected where B is not PSD
//	θ, σ² | s                  NIG
//	μ_x, T | s                 NIW
//	ω | s, z
//
// The first line's law of s is not the one of which the third and fourth are
// conditionals, and the second leaves no law invariant: the chain has a
// stationary law, but not the posterior.
type plain struct {
	*state
}

func newPlain(obs *model.Observation, prior *model.Prior, rng *rand.Rand) *plain {
	k := &plain{state: newState(obs, prior)}
	k.start(rng)
	return k
}

// Step does one sweep.
func (k *plain) Step(rng *rand.Rand) Info {
	var info Info
	if !k.factorLatent() {
		info.Failed = true
		return info
	}
	k.drawLatent(k.s, k.resid, rng)
	info.Projected = k.project()
	info.Failed = !k.drawConjugate(rng)
	k.drawOmega(rng)
	return info
}

// Params writes the parameters in the order of model.Shape.Names.
func (k *plain) Params(dst []float64) { k.params.Write(dst) }
