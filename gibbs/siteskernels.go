package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// exactSites is the default sweep for several releases, that of exact with
//
//	(a) φ′ by a reversible kernel on the density with all s integrated out
//	(b) s_j′ ~ p_CLT(s_j | φ′, z_j, ω_j) for each j
//	(c) φ and all s accepted jointly with min(1, ∏_j w_j′/w_j)
//	(c′) each s_j′ ~ p_CLT(s_j | φ, z_j, ω_j), accepted with min(1, w_j′/w_j)
//	(d) (θ, σ²) given all s; each (μ_x, T) given its s_j, or one given all
//	(e) ω_j | s_j, z_j
//
// (c) becomes rare where many releases of few rows each differ from the CLT; the others
// move on all the same, but slowly. mcmc-exact has no such limit.
type exactSites struct {
	*sites
	target *sitesTarget
	hmc    *hmc
	saved  []float64
	phase  phase
	last   Info
}

func newExactSites(p *model.Joint, rng *rand.Rand) *exactSites {
	c := newSites(p, rng)
	target := newSitesTarget(c)
	var blocks []int
	if c.own > 0 {
		for range c.all {
			blocks = append(blocks, c.own)
		}
	}
	return &exactSites{sites: c, target: target, hmc: newHMC(target, nuts.NewMetric(target.Dim(), c.hub, blocks...)), saved: make([]float64, len(c.phi))}
}

// Step does one sweep.
func (k *exactSites) Step(rng *rand.Rand) Info {
	if k.phase == entering {
		k.phase = exactTarget
		for _, s := range k.all {
			s.enter(s.correction, s.moments, rng)
		}
	}
	info := k.propose(rng)
	accepted := !info.Failed
	if accepted && k.phase == exactTarget {
		accepted = k.correct(&info, rng)
	}
	for _, s := range k.all {
		s.conclude(accepted)
	}
	if k.phase == exactTarget {
		k.refresh(rng)
		info.Failed = !k.drawConjugate(rng) || info.Failed
	}
	for _, s := range k.all {
		s.drawOmega(rng)
	}
	k.last = info
	return info
}

// propose does (a) and (b).
func (k *exactSites) propose(rng *rand.Rand) (info Info) {
	for _, s := range k.all {
		s.save()
	}
	if !k.unconstrain() {
		return Info{Failed: true}
	}
	switch u := rng.Float64(); {
	case u < flipShare:
		info = Info{transition: k.flip(rng)}
	case u < flipShare+countShare && k.latent():
		info = Info{transition: k.counts(rng)}
	default:
		info = Info{transition: k.hmc.step(k.phi, rng), Hamiltonian: true}
	}
	k.constrain(k.phi)
	for _, s := range k.all {
		if !s.factorLatent() {
			return Info{Failed: true}
		}
		s.drawLatent(s.propS, s.propR, rng)
	}
	return info
}

// latent tells whether any n is.
func (c *sites) latent() bool {
	for _, s := range c.all {
		if s.count != nil {
			return true
		}
	}
	return false
}

// counts moves each latent n, with the site's own coordinates along.
func (k *exactSites) counts(rng *rand.Rand) (t transition) {
	for j, s := range k.all {
		if s.count != nil {
			t = s.count.step(k.gather(j, k.phi), rng)
			copy(k.part(k.phi, j), s.phi[k.hub:])
		}
	}
	return t
}

// flip negates one shared coordinate, or one site's mean of a covariate; see the type.
func (k *exactSites) flip(rng *rand.Rand) (t transition) {
	p, q := k.problem.Shape.P, k.problem.Shape.Q()
	at, from, to := rng.IntN(q), 0, len(k.all)
	if rng.IntN(q+p) >= q {
		at = q + 1 + rng.IntN(p)
		if !k.problem.Shared {
			from = rng.IntN(len(k.all))
			to = from + 1
		}
	}
	gain := 0.0
	if to-from > 1 || k.problem.Shared { // their prior is in each site's density
		copy(k.saved, k.phi)
		gain = k.target.again(k.phi)
		k.saved[at] = -k.saved[at]
		gain -= k.target.again(k.saved)
	}
	for j := from; j < to; j++ {
		_, _, g := k.all[j].flip.try(k.gather(j, k.phi), at, rng)
		gain += g
	}
	if t.accept = math.Min(1, math.Exp(gain)); !(t.accept >= 0) {
		t.accept = 0
	}
	t.accepted = rng.Float64() < t.accept
	for j := from; j < to; j++ {
		s := k.all[j]
		if !t.accepted {
			s.flip.undo()
			continue
		}
		copy(k.phi, s.flip.prop[:k.hub])
		copy(k.part(k.phi, j), s.flip.prop[k.hub:])
	}
	return t
}

// correct does (c) and reports whether the proposal is accepted.
func (k *exactSites) correct(info *Info, rng *rand.Rand) bool {
	gain := 0.0
	for _, s := range k.all {
		ratio, ok := s.logRatio(s.correction, s.moments)
		if !ok {
			return false
		}
		gain += ratio
	}
	info.Correction = math.Min(1, math.Exp(gain))
	return rng.Float64() < info.Correction
}

// refresh does (c′).
func (k *exactSites) refresh(rng *rand.Rand) {
	for _, s := range k.all {
		if !s.factorLatent() {
			continue
		}
		s.drawLatent(s.propS, s.propR, rng)
		gain := s.correction.logWeight(s.propS, s.moments, s.n) - s.correction.logWeight(s.s, s.moments, s.n)
		if rng.Float64() < math.Exp(gain) {
			copy(s.s, s.propS)
			copy(s.resid, s.propR)
		}
	}
}

// Adapt is called by the driver after each warm-up step; see clt.Adapt.
func (k *exactSites) Adapt(iteration, warmup int) {
	if iteration == 0 {
		k.hmc.restart(firstStepSize)
	}
	if k.last.Hamiltonian && !k.last.Failed {
		k.hmc.stepSize.Update(k.last.accept)
	}
	done := iteration + 1
	if done > share(approximateEnds/2, warmup) && k.unconstrain() {
		k.hmc.metric.Add(k.phi)
		for _, s := range k.all {
			if s.count != nil {
				s.count.add(s.phi)
			}
		}
	}
	for _, end := range windowEnds {
		if done != share(end, warmup) {
			continue
		}
		if k.hmc.metric.Update() {
			k.hmc.restart(whitenedStep)
		}
		for _, s := range k.all {
			if s.count != nil {
				s.count.update()
			}
		}
	}
	if done == warmup {
		k.hmc.stepSize.Settle()
	}
	if done == share(approximateEnds, warmup) {
		k.phase = entering
	}
}

// plainSites is the published sweep for several releases: plain's steps for each, with
// (θ, σ²) given all s.
type plainSites struct{ *sites }

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
