package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// sites is where a chain for several releases stands: a state for each, with its
// own s, ω and n and a copy of the parameters, of which (θ, σ²), and where covariates
// are shared (μ_x, T), are the same in all. Given these the releases are independent.
//
// φ has the shared parameters, and behind them where covariates are not shared each
// site's (μ_x, U); see model.Coordinates.
type sites struct {
	problem      *model.Joint
	all          []*site
	hub, own     int // coordinates that are shared, and of each site
	phi          []float64
	conditionals *model.Conditionals // of what is shared, given all statistics
	total        []float64           // all statistics in common units
}

// site is one release's part.
type site struct {
	*proposal
	moments    *model.Moments
	correction *correction
	target     *collapsed
	flip       *flip
	count      *count // nil where n is public

	phi, grad []float64 // shared coordinates and its own
}

func newSite(p *model.Joint, j int, still int, rng *rand.Rand) *site {
	obs, units := p.Sites[j].Observation, p.Sites[j].Units
	law := newLocated(p.Shape, p.Prior, units)
	c := newState(obs, p.Prior, law)
	c.units, c.common = units, make([]float64, c.q)
	c.start(rng)
	target := newCollapsed(c)
	k := &site{proposal: newProposal(c), moments: law.Moments, correction: newCorrection(p.Shape.M()), target: target, flip: newFlip(target), count: newCount(target),
		phi: make([]float64, law.Dim()), grad: make([]float64, law.Dim())}
	if k.count != nil {
		k.count.still = still
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
		c.own = whole - c.hub
	}
	for j := range p.Sites {
		c.all = append(c.all, newSite(p, j, c.hub, rng))
	}
	c.phi = make([]float64, c.hub+c.own*len(c.all))
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

// unconstrain writes φ of the parameters.
func (c *sites) unconstrain() bool {
	for j, s := range c.all {
		if !s.law.Unconstrain(s.phi, s.params) {
			return false
		}
		copy(c.phi, s.phi[:c.hub])
		copy(c.part(c.phi, j), s.phi[c.hub:])
	}
	return true
}

// part is a site's own part of φ.
func (c *sites) part(phi []float64, j int) []float64 {
	return phi[c.hub+j*c.own : c.hub+(j+1)*c.own]
}

// gather writes a site's φ.
func (c *sites) gather(j int, phi []float64) []float64 {
	s := c.all[j]
	copy(s.phi, phi[:c.hub])
	copy(s.phi[c.hub:], c.part(phi, j))
	return s.phi
}

// constrain takes the parameters of φ.
func (c *sites) constrain(phi []float64) {
	for j, s := range c.all {
		s.law.Constrain(s.params, c.gather(j, phi))
	}
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

// sitesTarget is the collapsed density of several releases,
//
//	log π(φ) = Σ_j log π_j(φ_j) − (J − 1) log p(shared parameters),
//
// since each π_j has their prior in it.
type sitesTarget struct {
	*sites
	prior interface { // of the shared parameters, at those of the first site
		Constrain(x *model.Params, phi []float64)
		LogPrior(grad []float64, x *model.Params) float64
	}
	params *model.Params
	grad   []float64 // of the shared prior
}

func newSitesTarget(c *sites) *sitesTarget {
	t := &sitesTarget{sites: c, params: model.NewParams(c.problem.Shape), grad: make([]float64, c.hub)}
	if c.problem.Shared {
		t.prior = model.NewCoordinates(c.problem.Shape, c.problem.Prior)
	} else {
		t.prior, t.params = model.NewRegressionCoordinates(c.problem.Prior), model.NewRegressionParams(c.problem.Shape)
	}
	return t
}

// Dim returns the number of coordinates.
func (t *sitesTarget) Dim() int { return len(t.phi) }

// again returns (J − 1) log p(shared parameters); its gradient stands in grad.
func (t *sitesTarget) again(phi []float64) float64 {
	t.prior.Constrain(t.params, phi[:t.hub])
	more := float64(len(t.all) - 1)
	logp := more * t.prior.LogPrior(t.grad, t.params)
	for i := range t.grad {
		t.grad[i] *= more
	}
	return logp
}

// LogDensity returns log π(φ) and writes its gradient. It leaves each site as
// collapsed.LogDensity does.
func (t *sitesTarget) LogDensity(grad, phi []float64) float64 {
	logp := -t.again(phi)
	for i, g := range t.grad {
		grad[i] = -g
	}
	for j, s := range t.all {
		v := s.target.LogDensity(s.grad, t.gather(j, phi))
		if math.IsInf(v, -1) {
			return v
		}
		logp += v
		axpy(grad[:t.hub], 1, s.grad[:t.hub])
		copy(t.part(grad, j), s.grad[t.hub:])
	}
	return logp
}
