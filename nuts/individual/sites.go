package individual

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// sites is the posterior of parameters and rows of several releases,
//
//	Σ_j [log p(φ_j) + log p(U_j) + log p(z_j | s_j)] − (J − 1) log p(shared parameters),
//
// each p(φ_j) having their prior in it. Coordinates are the shared parameters, then for
// each site the others of φ_j and u_1, then the other rows of U of each.
type sites struct {
	hub   *model.Hub // the shared parameters
	all   []*site
	lead  int       // shared coordinates
	block int       // coordinates of a site that stand before all rows
	rows  []int     // where each site's rows begin, and the end
	prior []float64 // gradient of the shared prior
}

func newSites(t *model.Joint, clamping bool) *sites {
	f := &sites{hub: model.NewHub(t)}
	f.lead = f.hub.Dim()
	for j := range t.Sites {
		f.all = append(f.all, newJointSite(t, j, clamping))
	}
	m := t.Shape.M()
	f.block = f.all[0].hub.Dim() - f.lead + m
	at := f.lead + f.block*len(f.all)
	for _, s := range f.all {
		f.rows = append(f.rows, at)
		at += m * (s.n - 1)
	}
	f.rows = append(f.rows, at)
	f.prior = make([]float64, f.lead)
	return f
}

// Dim returns the number of coordinates.
func (f *sites) Dim() int { return f.rows[len(f.all)] }

// part is a site's block: the rest of φ_j, and u_1.
func (f *sites) part(x []float64, j int) (own, first []float64) {
	block := x[f.lead+j*f.block : f.lead+(j+1)*f.block]
	return block[:f.block-f.all[j].m], block[f.block-f.all[j].m:]
}

// LogDensity returns the log density up to a constant, and its gradient.
func (f *sites) LogDensity(grad, x []float64) (float64, error) {
	f.hub.Constrain(x[:f.lead])
	again := float64(len(f.all) - 1)
	logp := -again * f.hub.LogPrior(f.prior, x[:f.lead])
	for i, g := range f.prior {
		grad[i] = -again * g
	}
	for j, s := range f.all {
		own, first := f.part(x, j)
		gOwn, gFirst := f.part(grad, j)
		copy(s.phi, x[:f.lead])
		copy(s.phi[f.lead:], own)
		logp += s.add(gFirst, grad[f.rows[j]:f.rows[j+1]], first, x[f.rows[j]:f.rows[j+1]])
		for i, g := range s.grad[:f.lead] {
			grad[i] += g
		}
		copy(gOwn, s.grad[f.lead:])
	}
	if math.IsNaN(logp) {
		return 0, nuts.ErrReject
	}
	return logp, nil
}

// start writes a point to start from: of each release z with noise drawn anew,
// projected; the parameters from their conjugate laws given these; residuals from
// theirs. It reports false where the parameters cannot be computed with.
func (f *sites) start(t *model.Joint, x []float64, rng *rand.Rand) bool {
	q, rows := t.Shape.Statistics(), 0.0
	total, params := make([]float64, q), model.NewParams(t.Shape)
	conditionals, projection := model.NewConditionals(t.Shape, t.Prior, true), model.NewProjection(t.Shape.M())
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for j, site := range t.Sites {
		s := make([]float64, q)
		for i, z := range site.Z {
			s[i] = z + site.Scale[i]*rng.NormFloat64()
		}
		projection.Apply(s, site.N)
		site.Units.Common(s, s, site.N)
		for i, v := range s {
			total[i] += v
		}
		rows += site.N
		if !conditionals.Draw(params, s, site.N, rng) || !f.all[j].hub.Unconstrain(f.all[j].phi, params) {
			return false
		}
		own, _ := f.part(x, j)
		copy(own, f.all[j].phi[f.lead:])
	}
	return conditionals.Draw(params, total, rows, rng) && f.hub.Unconstrain(x[:f.lead], params)
}

// sitesKernel is one chain for several releases.
type sitesKernel struct {
	*nuts.Sampler
	density  *sites
	signs    []int
	proposed []float64
	grad     []float64
}

func newSitesKernel(t *model.Joint, clamping bool, rng *rand.Rand) (*sitesKernel, error) {
	f := newSites(t, clamping)
	k := &sitesKernel{density: f, signs: f.hub.Signs(), proposed: make([]float64, f.Dim()), grad: make([]float64, f.Dim())}
	if !t.Shared {
		for j := range f.all {
			for i := range t.Shape.P {
				k.signs = append(k.signs, f.lead+j*f.block+i)
			}
		}
	}
	x, o := make([]float64, f.Dim()), nuts.Options{Dense: f.lead}
	for range f.all {
		o.Blocks = append(o.Blocks, f.block)
	}
	if !f.start(t, x, rng) {
		return nil, errStart
	}
	var err error
	if k.Sampler, err = nuts.New(f, x, o); err != nil {
		return nil, errStart
	}
	return k, nil
}

// Step does one transition, and offers the negation of a mean or a coefficient; see
// flip.
func (k *sitesKernel) Step(rng *rand.Rand) nuts.Info {
	info := k.Sampler.Step(rng)
	at := k.signs[rng.IntN(len(k.signs))]
	copy(k.proposed, k.Position())
	k.proposed[at] = -k.proposed[at]
	after, err := k.density.LogDensity(k.grad, k.proposed)
	if err == nil && rng.Float64() < math.Exp(after-k.LogDensity()) {
		k.MoveTo(k.proposed, after, k.grad)
	}
	info.LogDensity = k.LogDensity()
	return info
}

// Adapt is called by the driver after each warm-up step.
func (k *sitesKernel) Adapt(iteration, warmup int) {
	if done := iteration + 1; done == warmup/20 || done == warmup/10 {
		k.Moved() // s at the chain's position
		for _, s := range k.density.all {
			s.noise.Widen(s.s)
		}
		k.Moved()
	}
	k.Sampler.Adapt(iteration, warmup)
}

// Params writes the parameters in the order of model.Joint.Names.
func (k *sitesKernel) Params(dst []float64) {
	k.density.hub.Constrain(k.Position()[:k.density.lead])
	k.density.hub.Write(dst)
}
