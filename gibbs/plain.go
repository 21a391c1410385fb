package gibbs

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// plain is the sweep of Bernstein & Sheldon (2019, Algorithm 2) as published:
//
//	n | θ, σ², μ_x, T, ω, z    by Metropolis, where n is latent
//	s | n, θ, σ², μ_x, T, ω, z from the CLT's normal law
//	s projected where B is not PSD
//	θ, σ² | s                  NIG
//	μ_x, T | s                 NIW, where they are latent
//	ω | s, z
//
// The second line's law of s is not the one of which the fourth and fifth are
// conditionals, and the projection leaves no law invariant: the chain has a
// stationary law, but not the posterior.
type plain struct {
	*state
	count *count // nil where n is public
	phi   []float64
}

func newPlain(obs *model.Observation, prior *model.Prior, law source, rng *rand.Rand) *plain {
	c := newState(obs, prior, law)
	c.start(rng)
	k := &plain{state: c}
	if k.count = newCount(c, newCollapsed(c).value); k.count != nil {
		k.phi = make([]float64, law.Dim())
	}
	return k
}

// Step does one sweep.
func (k *plain) Step(rng *rand.Rand) Info {
	var info Info
	if info.Failed = !k.renew(k.count, k.phi, rng); info.Failed {
		return info
	}
	info.Projected = k.project()
	info.Failed = !k.drawConjugate(rng)
	k.drawOmega(rng)
	return info
}

// renew draws n where it is latent, with phi for a buffer, and s given the parameters;
// it reports false where rounding leaves a matrix indefinite.
func (k *state) renew(count *count, phi []float64, rng *rand.Rand) bool {
	if count != nil && k.law.Unconstrain(phi, k.params) {
		count.step(phi, rng)
		k.law.Constrain(k.params, phi)
	}
	if !k.factorLatent() {
		return false
	}
	k.drawLatent(k.s, k.resid, rng)
	return true
}

// plainSites is the published sweep for several releases: plain's steps for each, with
// (θ, σ²) given all s.
type plainSites struct{ *sites }

func newPlainSites(p *model.Joint, rng *rand.Rand) *plainSites {
	k := &plainSites{newSites(p, rng)}
	for _, s := range k.all {
		s.count = newCount(s.state, newCollapsed(s.state).value)
	}
	return k
}

// Step does one sweep.
func (k *plainSites) Step(rng *rand.Rand) Info {
	var info Info
	for _, s := range k.all {
		if info.Failed = !s.renew(s.count, s.phi, rng); info.Failed {
			return info
		}
		info.Projected = s.project() || info.Projected
	}
	info.Failed = !k.drawConjugate(rng)
	for _, s := range k.all {
		s.drawOmega(rng)
	}
	return info
}
