package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
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
	t := &sharedTarget{sites: c, hub: sharedHub(p)}
	t.x, t.grad = make([]float64, t.hub.Dim()), make([]float64, t.hub.Dim())
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
		k.shared = newMover(t, t.leaving(), t.signs(), most)
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
			s.own.adapt(s.ownAt, iteration, warmup)
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

// correction computes log w = log p(s | ·) − log p_CLT(s | ·), the exact over
// the CLT density of the statistics of n normal rows. Both have the sums
// s₁ ~ N(nμ, nV), which cancels. With the scatter A = S − s₁s₁ᵀ/n about the
// sample mean v̄, and A′ = A + n(v̄−μ)(v̄−μ)ᵀ about the true one,
//
//	exact: A ~ Wishart(n−1, V)
//	CLT:   A′ ~ N(nV, 2n V⊗V),  −(1/4n) tr[(V⁻¹(A′ − nV))²] − ½(m+1) log|V|.
//
// With V = LLᵀ, R = L⁻¹AL⁻ᵀ/n and δ = L⁻¹(v̄ − μ) the powers of |V| cancel:
//
//	log w = ½(n−m−2) log|R| − ½n (tr R − m) + ¼n ‖R + δδᵀ − I‖² + c(n),
//
// and −∞ where A is not positive definite: no data have such statistics.
type correction struct {
	m       int
	scatter []float64 // A, then its factor, then R
	delta   []float64
}

func newCorrection(m int) *correction {
	return &correction{m: m, scatter: make([]float64, m*m), delta: make([]float64, m)}
}

// logWeight returns log w − c(n) at statistics s, given moments after Factor.
func (c *correction) logWeight(s []float64, t *model.Moments, n float64) float64 {
	m, r := c.m, c.scatter
	model.Scatter(r, s, m, n)
	whiten(r, t.Chol, m)
	for j := range m {
		c.delta[j] = s[j]/n - t.Mean[j]
	}
	dense.SolveLower(t.Chol, m, c.delta)

	trace, square := 0.0, 0.0
	for j := range m {
		for k := range j + 1 {
			r[j*m+k] /= n
			e := r[j*m+k] + c.delta[j]*c.delta[k]
			if k == j {
				trace += r[j*m+j] - 1
				square += (e - 1) * (e - 1)
			} else {
				square += 2 * e * e
			}
		}
	}
	if !dense.Cholesky(r, m) {
		return math.Inf(-1)
	}
	return 0.5*(n-float64(m)-2)*dense.LogDet(r, m) - 0.5*n*trace + 0.25*n*square
}

// whiten replaces symmetric a by L⁻¹aL⁻ᵀ: forward substitution on its rows,
// then on the columns of what results, whose lower triangle is the answer's.
func whiten(a, l []float64, m int) {
	for j := range m {
		dense.SolveLower(l, m, a[j*m:j*m+m])
	}
	for i := range m {
		inv := 1 / l[i*m+i]
		for k := range m {
			v := a[i*m+k]
			for j := range i {
				v -= l[i*m+j] * a[j*m+k]
			}
			a[i*m+k] = v * inv
		}
	}
}
