package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// exactSites is the default sweep for several releases. Its stationary law is the
// posterior under the exact law of all statistics:
//
//	(a) each s_j′ ~ p_CLT(s_j | φ, z_j, ω_j), accepted with min(1, w_j′/w_j), w as in
//	    exact; a latent n_j moves now and then with the site's own parameters, s_j
//	    integrated out, and is accepted with s_j′
//	(b) (θ, σ²) given all s; each (μ_x, T) given its s_j, or one given all
//	(c) each site's own parameters, then the shared ones, with (f, A) of all held;
//	    see ancillary
//	(d) ω_j | s_j, z_j
//
// Where pooling is partial θ_j stands for θ in (a) and is the site's own in (c), (b) is
// that of model.Hierarchy, and in (c) θ and Ω move besides; see pooled and noncentred.
//
// (b) has s held, of which it knows nothing where noise hides s; (c) has held what is
// independent of the parameters there (Yu & Meng 2011, "To Center or Not to Center", J.
// Computational and Graphical Statistics 20). Its density has ω integrated out, and (d)
// follows it, before anything depends on ω. No step looks at more than one site's
// statistics to accept, so that none becomes rare with many.
type exactSites struct {
	*sites
	target *sharedTarget
	shared *mover
	phi    []float64 // the shared coordinates

	spread      *noncentred // nil unless pooling is partial
	spreadMover *mover
}

func newExactSites(p *model.Joint, rng *rand.Rand) *exactSites {
	c := newSites(p, rng)
	t := newSharedTarget(c)
	for _, s := range c.all { // the border of what data can have, where w = ∞ if n = m + 1, is no start
		if s.law.Set(s.params); s.projected && s.moments.Factor() {
			s.drawExact(s.moments, rng)
		}
	}
	most := fewLeapfrogs
	if c.all[0].own == nil {
		most = manyLeapfrogs
	}
	k := &exactSites{sites: c, target: t, shared: newMover(t, rigid{t}, t.signs(), most), phi: make([]float64, c.lead)}
	if p.Partial {
		k.spread = newNoncentred(c)
		k.spreadMover = newMover(k.spread, k.spread, k.spread.hub.Signs(), fewLeapfrogs)
	}
	return k
}

// Step does one sweep.
func (k *exactSites) Step(rng *rand.Rand) (info Info) {
	for _, s := range k.all {
		accept, ok := s.renewExact(rng)
		info.Correction += accept / float64(len(k.all))
		info.Failed = info.Failed || !ok
	}
	info.Failed = !k.drawConjugate(rng) || info.Failed
	var ok bool
	info.transition, ok = k.interweave(rng)
	info.Hamiltonian, info.Failed = ok && k.shared.moved, info.Failed || !ok
	for _, s := range k.all {
		s.drawOmega(rng)
	}
	return info
}

// renewExact does (a) and returns the acceptance probability; it reports false where
// rounding leaves a matrix indefinite.
func (s *site) renewExact(rng *rand.Rand) (accept float64, ok bool) {
	s.save()
	if s.count != nil && rng.Float64() < countShare && s.law.Unconstrain(s.phi, s.params) {
		s.count.step(s.phi, rng)
		s.law.Constrain(s.params, s.phi)
	}
	if ok = s.factorLatent(); ok {
		s.drawLatent(s.propS, s.propR, rng)
		var ratio float64
		if ratio, ok = s.logRatio(s.correction, s.moments); ok {
			accept = math.Min(1, math.Exp(ratio))
		}
	}
	s.conclude(rng.Float64() < accept)
	return accept, ok
}

// roughEnds is the share of warm-up after which the guesses of θ_j stay, so that the metrics
// of the windows after it are of the coordinates that sampling has.
const roughEnds = 0.2

// Adapt is called by the driver after each warm-up step.
func (k *exactSites) Adapt(iteration, warmup int) {
	k.shared.adapt(k.phi, iteration, warmup)
	if k.spread != nil {
		k.spreadMover.adapt(k.spread.now, iteration, warmup)
	}
	done := iteration + 1
	collects := done > share(approximateEnds/2, warmup)
	k.target.record = collects && done < warmup
	for _, s := range k.all {
		if s.own != nil {
			s.own.adapt(s.ownPosition(), iteration, warmup)
		}
		if s.count != nil && collects {
			s.count.add(s.phi)
		}
		if windowCloses(done, warmup) {
			s.regression.update()
			if s.rough != nil && done <= share(roughEnds, warmup) {
				s.rough.update()
			}
			if s.count != nil {
				s.count.update()
			}
		}
		if done == warmup/20 || done == warmup/10 {
			s.alone.Reach(s.s)
			s.among.Reach(s.s)
		}
	}
}
