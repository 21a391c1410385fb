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
	given
	each []*renewal
}

// given draws the parameters given all statistics, and writes them.
type given interface {
	drawConjugate(*rand.Rand) bool
	Params(dst []float64)
}

// renewal draws the statistics of one release.
type renewal struct {
	*state
	count *count // nil where n is public
	phi   []float64
}

func newPlain(obs *model.Observation, prior *model.Prior, law source, rng *rand.Rand) *plain {
	c := newState(obs, prior, law)
	c.start(rng)
	return plainOf(c, c)
}

func newPlainSites(p *model.Joint, rng *rand.Rand) *plain {
	c := newSites(p, rng)
	var of []*state
	for _, s := range c.all {
		of = append(of, s.state)
	}
	return plainOf(c, of...)
}

func plainOf(c given, of ...*state) *plain {
	k := &plain{given: c}
	for _, s := range of {
		k.each = append(k.each, &renewal{s, newCount(s, newCollapsed(s).value), make([]float64, s.law.Dim())})
	}
	return k
}

// Step does one sweep.
func (k *plain) Step(rng *rand.Rand) (info Info) {
	for _, s := range k.each {
		if info.Failed = !s.renew(rng); info.Failed {
			return info
		}
		info.Projected = s.project() || info.Projected
	}
	info.Failed = !k.drawConjugate(rng)
	for _, s := range k.each {
		s.drawOmega(rng)
	}
	return info
}

// renew draws n where it is latent, and s given the parameters; it reports false where
// rounding leaves a matrix indefinite.
func (k *renewal) renew(rng *rand.Rand) bool {
	if k.count != nil && k.law.Unconstrain(k.phi, k.params) {
		k.count.step(k.phi, rng)
		k.law.Constrain(k.params, k.phi)
	}
	if !k.factorLatent() {
		return false
	}
	k.drawLatent(k.s, k.resid, rng)
	return true
}
