package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// exactSites is the default sweep for one release or several. Its stationary law is the
// posterior under the exact law of all statistics:
//
//	(a) s_j′ from s_j, reversible with respect to p_CLT(s_j | φ, z_j, ω_j), see latent,
//	    accepted with min(1, w_j′/w_j), w = p(s | φ)/p_CLT(s | φ), see correction; before
//	    it a latent n_j moves with the site's own parameters, see chance
//	(b) (θ, σ²) given all s; each (μ_x, T) given its s_j, or one given all
//	(c) each site's own parameters, then the shared ones, with (f, A) of all held;
//	    see ancillary
//	(d) ω_j | s_j, z_j
//
// (a) is the Metropolis–Hastings test of w times what the proposal is reversible with respect to.
// Where pooling is partial (θ_j, σ_j) stands for (θ, σ) in (a) and is the site's own in (c),
// (b) is that of model.Hierarchy, and in (c) θ, σ and their spread move besides; see pooled
// and noncentred.
//
// (b) has s held, of which it knows nothing where noise hides s; (c) has held what is
// independent of the parameters there (Yu & Meng 2011, "To Center or Not to Center", J.
// Computational and Graphical Statistics 20). Its density has ω integrated out, and (d)
// follows it, before anything depends on ω. No step looks at more than one site's
// statistics to accept, so that none becomes rare with many.
type exactSites struct {
	*sites
	target *sharedTarget
	shared *mover    // nil where only the spread's law is shared
	phi    []float64 // the shared coordinates

	spread      *noncentred // nil unless pooling is partial
	spreadMover *mover
}

func newExactSites(p *model.Joint, rng *rand.Rand) *exactSites {
	c := newSites(p, rng)
	t := newSharedTarget(c)
	for _, s := range c.all { // the border of what data can have is no start
		if s.law.Set(s.params); s.projected && s.moments.Factor() {
			s.moments.RandExact(s.s, s.n, rng)
		}
	}
	most := fewLeapfrogs
	if c.all[0].own == nil {
		most = manyLeapfrogs
	}
	for _, s := range c.all {
		if s.count = newCount(s.state, s.chance.density); s.count != nil && len(c.all) > 1 {
			s.count.still = c.lead
		}
	}
	k := &exactSites{sites: c, target: t, phi: make([]float64, c.lead)}
	if c.lead > 0 {
		k.shared = newMover(t, rigid{t}, t.signs(), most)
	}
	if p.Partial {
		k.spread = newNoncentred(c)
		k.spreadMover = newMover(k.spread, k.spread, k.spread.hub.Signs(), fewLeapfrogs)
	}
	return k
}

func (k *exactSites) Step(rng *rand.Rand) (info Info) {
	for _, s := range k.all {
		accept, ok := s.renewExact(rng)
		info.Correction += accept / float64(len(k.all))
		info.Failed = info.Failed || !ok
	}
	info.Failed = !k.drawConjugate(rng) || info.Failed
	var ok bool
	info.transition, ok = k.interweave(rng)
	info.Failed = info.Failed || !ok
	for _, s := range k.all {
		s.drawOmega(rng)
	}
	return info
}

// renewExact does (a) and returns the acceptance probability; it reports false where
// rounding leaves a matrix indefinite.
func (s *site) renewExact(rng *rand.Rand) (accept float64, ok bool) {
	if s.count != nil && !s.moveCount(rng) {
		return 0, false
	}
	s.law.Set(s.params)
	if !s.moments.Factor() || !s.latent.draw(rng) {
		return 0, false
	}
	ratio := s.correction.logWeight(s.latent.next, s.moments, s.n) - s.correction.logWeight(s.s, s.moments, s.n)
	accept = math.Min(1, math.Exp(ratio))
	if rng.Float64() < accept {
		copy(s.s, s.latent.next)
		copy(s.resid, s.latent.to)
	}
	return accept, true
}

// roughEnds is the share of warm-up after which the guesses of w_j stay, so that the metrics
// of the windows after it are of the coordinates that sampling has.
const roughEnds = 0.2

// Adapt is called by the driver after each warm-up step.
func (k *exactSites) Adapt(iteration, warmup int) {
	if k.shared != nil {
		k.shared.adapt(k.phi, iteration, warmup)
	}
	if k.spread != nil {
		k.spreadMover.adapt(k.spread.now, iteration, warmup)
	}
	done := iteration + 1
	collects := done > share(firstWindow/2, warmup)
	k.target.record = collects && done < warmup
	for _, s := range k.all {
		s.record = s.rough != nil && k.target.record
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
