package gibbs

import "math/rand/v2"

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

// given are the statistics of releases, given which it draws the parameters, and writes them.
type given interface {
	states() []*state
	drawConjugate(*rand.Rand) bool
	Params(dst []float64)
}

// renewal draws the statistics of one release.
type renewal struct {
	*state
	count *count // nil where n is public
	phi   []float64
}

func newPlain(c given) *plain {
	k := &plain{given: c}
	for _, s := range c.states() {
		k.each = append(k.each, &renewal{s, newCount(s, s.collapsed), make([]float64, s.law.Dim())})
	}
	return k
}

func (k *plain) Step(rng *rand.Rand) (info Info) {
	for _, s := range k.each {
		if s.count != nil && s.law.Unconstrain(s.phi, s.params) {
			s.count.step(s.phi, rng)
			s.law.Constrain(s.params, s.phi)
		}
		if info.Failed = !s.drawLatent(rng); info.Failed {
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
