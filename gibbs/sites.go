package gibbs

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/model"
)

// sites is where a chain for several releases stands: a state for each, with its
// own s, ω and n and a copy of the parameters, of which (θ, σ²), and where covariates
// are shared (μ_x, T), are the same in all. Given these the releases are independent.
// Where pooling is partial, (θ, σ²) are not: what stands for them is the site's own
// (θ_j, σ_j²), and they and their spread stand in the hierarchy.
type sites struct {
	problem      *model.Joint
	all          []*site
	lead         int                 // coordinates that are shared
	conditionals *model.Conditionals // of what is shared, given all statistics
	total        []float64           // all statistics in common units
	hierarchy    *model.Hierarchy    // nil unless pooling is partial
}

// site is one release's part. Its φ has the shared coordinates first, and behind them,
// unless covariates are shared, those of its own (μ_x, T); see model.Coordinates, and
// pooled where pooling is partial.
type site struct {
	*state
	moments      *model.Moments
	correction   *correction
	count        *count // nil where n is public
	ancillary    *ancillary
	latent       *latent
	chance       *chance
	record       bool      // whether rough takes a gradient from the next density of own
	own          *mover    // nil where it has no parameters of its own
	rough        *rough    // nil unless pooling is partial
	ownAt        []float64 // where own went last, in its coordinates: φ's, but where rough changes them
	regression   *regression
	lead         int // coordinates that are shared
	phi          []float64
	alone, among *model.Noise // with slopes for moves of this site, and of all
}

// newSite starts release j, lead coordinates of which are shared.
func newSite(p *model.Joint, j, lead int, hierarchy *model.Hierarchy, rng *rand.Rand) *site {
	obs, units := p.Sites[j].Observation, p.Sites[j].Units
	rows := &located{model.NewMoments(p.Shape), model.NewCoordinates(p.Shape, p.Prior), units}
	var law rowSource = rows
	var guess *rough
	if hierarchy != nil {
		own := newPooled(rows, hierarchy, lead)
		law, guess = own, newRough(own.slope)
	}
	c := newState(obs, p.Prior, law, model.NewParams(p.Shape))
	if hierarchy != nil {
		c.params.Theta = hierarchy.At[j][:p.Shape.Q()]
	}
	c.units, c.common = units, make([]float64, c.q)
	c.start(rng)
	k := &site{lead: lead, state: c, moments: rows.Moments, correction: newCorrection(p.Shape.M()),
		latent: newLatent(c, rows.Moments), ancillary: newAncillary(c, law),
		rough: guess, regression: newRegression(lead, law.Dim()-lead), phi: make([]float64, law.Dim()),
		alone: model.NewNoise(obs), among: p.Noise(j)}
	k.chance = newChance(k.ancillary, k.alone, lead == 0 || len(p.Sites) == 1)
	if law.Dim() > lead {
		most := fewLeapfrogs
		k.ownAt = k.phi[lead:]
		if hierarchy != nil {
			most = manyLeapfrogs
			k.ownAt = make([]float64, law.Dim()-lead)
		}
		k.own = newMover(ownTarget{k, k.rough}, ownTarget{k, nil}, ownSigns(p), most)
	}
	return k
}

// coefficients are w_j = (θ_j, log σ_j²) where pooling is partial.
func (s *site) coefficients() []float64 {
	return s.phi[s.lead : s.lead+s.rough.q]
}

// ownSigns are the site's own coordinates to negate, those of θ_j and μ_x.
func ownSigns(p *model.Joint) (at []int) {
	behind := 0
	if p.Partial {
		for k := range p.Shape.Q() {
			at = append(at, k)
		}
		behind = p.Shape.Q() + 1
	}
	if !p.Shared {
		for j := range p.Shape.P {
			at = append(at, behind+j)
		}
	}
	return at
}

// newSites starts a chain: each release where it would start alone, then the shared
// parameters from their law given all statistics.
func newSites(p *model.Joint, rng *rand.Rand) *sites {
	c := &sites{problem: p, lead: sharedHub(p).Dim(), total: make([]float64, p.Shape.Statistics()), conditionals: model.NewConditionals(p.Shape, p.Prior, p.Shared)}
	if p.Partial {
		c.lead -= p.Shape.Q() + 1
		c.hierarchy = model.NewHierarchy(p.Shape, p.Prior, len(p.Sites))
		c.hierarchy.Start(rng)
	}
	for j := range p.Sites {
		c.all = append(c.all, newSite(p, j, c.lead, c.hierarchy, rng))
	}
	c.drawConjugate(rng)
	return c
}

func (c *sites) states() (all []*state) {
	for _, s := range c.all {
		all = append(all, s.state)
	}
	return all
}

// drawConjugate draws the parameters from their conjugate laws given all s.
func (c *sites) drawConjugate(rng *rand.Rand) bool {
	if c.hierarchy != nil {
		return c.drawHierarchy(rng)
	}
	rows := c.sum()
	for _, s := range c.all {
		if !c.problem.Shared && !s.conditionals.DrawCovariates(s.params, s.common, s.n, rng) {
			return false
		}
	}
	first := c.all[0].params
	if !c.conditionals.Draw(first, c.total, rows, rng) {
		return false
	}
	for _, s := range c.all[1:] {
		copy(s.params.Theta, first.Theta)
		s.params.Sigma2, s.params.LogW = first.Sigma2, first.LogW
		if c.problem.Shared {
			s.params.Copy(first)
		}
	}
	return true
}

// sum adds up all statistics in common units, and returns the number of rows.
func (c *sites) sum() (rows float64) {
	clear(c.total)
	for _, s := range c.all {
		floats.Add(c.total, s.statistics())
		rows += s.n
	}
	return rows
}

// drawHierarchy draws the parameters given all s, where pooling is partial: (μ_x, T) from
// NIW, all others by the hierarchy's steps.
func (c *sites) drawHierarchy(rng *rand.Rand) bool {
	rows := c.sum()
	c.takeScales()
	for j, s := range c.all {
		if !c.hierarchy.Observe(j, s.common, s.n) || !c.problem.Shared && !s.conditionals.DrawCovariates(s.params, s.common, s.n, rng) {
			return false
		}
	}
	first := c.all[0].params
	if c.problem.Shared && !c.conditionals.DrawCovariates(first, c.total, rows, rng) {
		return false
	}
	ok := c.hierarchy.Step(rng)
	for j, s := range c.all {
		s.params.Sigma2 = math.Exp(c.hierarchy.At[j][c.problem.Shape.Q()])
		if c.problem.Shared {
			copy(s.params.MuX, first.MuX)
			copy(s.params.Tau, first.Tau)
		}
	}
	return ok
}

// takeScales puts every σ_j of the sites into the hierarchy, where their θ_j are already.
func (c *sites) takeScales() {
	for j, s := range c.all {
		c.hierarchy.At[j][c.problem.Shape.Q()] = math.Log(s.params.Sigma2)
	}
}

// Params writes the parameters in the order of model.Joint.Names.
func (c *sites) Params(dst []float64) {
	first := c.all[0].params
	at := copy(dst, first.Theta)
	dst[at] = first.Population()
	at++
	if c.problem.Shared {
		at = first.Write(dst)
	}
	if c.hierarchy != nil {
		c.hierarchy.WriteShared(dst)
		at += c.hierarchy.Write(dst[at:])
	}
	for _, s := range c.all {
		if s.obs.Count.Latent() {
			dst[at] = s.n
			at++
		}
	}
}
