package gibbs

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// sites is where a chain for several releases stands: a state for each, with its
// own s, ω and n and a copy of the parameters, of which (θ, σ²), and where covariates
// are shared (μ_x, T), are the same in all. Given these the releases are independent.
type sites struct {
	problem      *model.Joint
	all          []*site
	hub          int                 // coordinates that are shared
	conditionals *model.Conditionals // of what is shared, given all statistics
	total        []float64           // all statistics in common units
}

// site is one release's part. Its φ has the shared coordinates first, and behind them,
// unless covariates are shared, those of its own (μ_x, T); see model.Coordinates.
type site struct {
	*proposal
	moments      *model.Moments
	correction   *correction
	count        *count // nil where n is public
	ancillary    *ancillary
	own          *mover // nil where covariates are shared
	regression   *regression
	phi          []float64
	alone, among *model.Noise // with slopes for moves of this site, and of all
}

// newSite starts release j, hub coordinates of which are shared.
func newSite(p *model.Joint, j, hub int, rng *rand.Rand) *site {
	obs, units := p.Sites[j].Observation, p.Sites[j].Units
	law := newLocated(p.Shape, p.Prior, units)
	c := newState(obs, p.Prior, law)
	c.units, c.common = units, make([]float64, c.q)
	c.start(rng)
	k := &site{proposal: newProposal(c), moments: law.Moments, correction: newCorrection(p.Shape.M()), count: newCount(newCollapsed(c)),
		ancillary: newAncillary(c, law.Coordinates), regression: newRegression(hub, law.Dim()-hub), phi: make([]float64, law.Dim()),
		alone: model.NewNoise(obs), among: p.Noise(j)}
	if k.count != nil {
		k.count.still = hub
	}
	if !p.Shared {
		own, signs := ownTarget{k, hub}, make([]int, p.Shape.P)
		for j := range signs {
			signs[j] = j // μ_x
		}
		k.own = newMover(own, own, signs, fewLeapfrogs)
	}
	return k
}

// newSites starts a chain: each release where it would start alone, then the shared
// parameters from their law given all statistics.
func newSites(p *model.Joint, rng *rand.Rand) *sites {
	whole := model.NewCoordinates(p.Shape, p.Prior).Dim()
	c := &sites{problem: p, hub: whole, total: make([]float64, p.Shape.Statistics()), conditionals: model.NewConditionals(p.Shape, p.Prior, p.Shared)}
	if !p.Shared {
		c.hub = p.Shape.Q() + 1
	}
	for j := range p.Sites {
		c.all = append(c.all, newSite(p, j, c.hub, rng))
	}
	c.drawConjugate(rng)
	return c
}

// drawConjugate draws the parameters from their conjugate laws given all s.
func (c *sites) drawConjugate(rng *rand.Rand) bool {
	clear(c.total)
	rows := 0.0
	for _, s := range c.all {
		for i, v := range s.statistics() {
			c.total[i] += v
		}
		rows += s.n
		if !c.problem.Shared && !s.state.drawConjugate(rng) {
			return false
		}
	}
	first := c.all[0].params
	if !c.conditionals.Draw(first, c.total, rows, rng) {
		return false
	}
	for _, s := range c.all[1:] {
		copy(s.params.Theta, first.Theta)
		s.params.Sigma2 = first.Sigma2
		if c.problem.Shared {
			s.params.Copy(first)
		}
	}
	return true
}

// Params writes the parameters in the order of model.Joint.Names.
func (c *sites) Params(dst []float64) {
	first := c.all[0].params
	at := copy(dst, first.Theta)
	dst[at] = first.Sigma2
	at++
	if c.problem.Shared {
		at = first.Write(dst)
	}
	for _, s := range c.all {
		if s.obs.Count.Latent() {
			dst[at] = s.n
			at++
		}
	}
}
