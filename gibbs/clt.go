package gibbs

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// clt is the sweep whose stationary law is the posterior of (φ, n, s, ω) under the
// CLT's law of s, φ the parameters:
//
//	(a) φ′ by a reversible kernel on the collapsed density, s integrated out
//	(b) s′ ~ p_CLT(s | φ′, z, ω)
//	(e) ω | s, z
//
// A move that flips a sign, or one of n where that is latent, takes the place of
// HMC in (a) now and then; a mixture of reversible kernels is reversible.
//
// No s is off the support of this law, so nothing is projected.
type clt struct {
	*proposal
	target *sloped
	hmc    *hmc
	metric *nuts.Metric
	flip   *flip
	count  *count // nil where n is public

	phi  []float64
	last Info
}

// flipShare is how often a sign flip takes the place of HMC: the more often, the better
// two modes are weighed, and the slower all else is explored.
const flipShare = 0.25

// newCLT starts a chain.
func newCLT(obs *model.Observation, prior *model.Prior, law *fixed, rng *rand.Rand) *clt {
	c := newState(obs, prior, law)
	c.start(rng)
	target := &sloped{newCollapsed(c), law, make([]float64, c.q*c.q)}
	metric := nuts.NewMetric(target.Dim(), target.Dim())
	return &clt{
		metric:   metric,
		proposal: newProposal(c), count: newCount(c, target.value), target: target, hmc: newHMC(target, metric), flip: newFlip(target.collapsed),
		phi: make([]float64, target.Dim()),
	}
}

// Step does one sweep.
func (k *clt) Step(rng *rand.Rand) Info {
	info := k.propose(rng)
	k.conclude(!info.Failed)
	k.drawOmega(rng)
	k.last = info
	return info
}

// propose does (a) and (b): the parameters and ω move, s′ waits in propS until
// conclude. It fails where rounding leaves a matrix indefinite.
func (k *clt) propose(rng *rand.Rand) Info {
	k.save()
	if !k.law.Unconstrain(k.phi, k.params) {
		return Info{Failed: true}
	}
	var info Info
	switch u := rng.Float64(); {
	case u < flipShare:
		info = Info{transition: k.flip.step(k.phi, rng)}
	case u < flipShare+countShare && k.count != nil:
		info = Info{transition: k.count.step(k.phi, rng)}
	default:
		info = Info{transition: k.hmc.step(k.phi, rng), Hamiltonian: true}
	}
	k.law.Constrain(k.params, k.phi)
	if info.Failed = !k.factorLatent(); !info.Failed {
		k.drawLatent(k.propS, k.propR, rng)
	}
	return info
}
