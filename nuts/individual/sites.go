package individual

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// sites is the posterior of parameters and rows of several releases,
//
//	Σ_j [log p(φ_j) + log p(θ_j, σ_j | θ, σ, Ω, υ) + log p(U_j) + log p(z_j | s_j)] − (J − 1) log p(shared parameters),
//
// each p(φ_j) having their prior in it, and the second term only where pooling is partial.
// Coordinates are the shared parameters, then for each site those of (θ_j, σ_j), the others of φ_j
// and u_1, then the other rows of U of each.
type sites struct {
	hub   *model.Hub // the shared parameters
	all   []*site
	lead  int       // shared coordinates
	base  int       // of which so many before those of the spread
	theta int       // coordinates of a (θ_j, σ_j)
	block int       // coordinates of a site that stand before all rows
	rows  []int     // where each site's rows begin, and the end
	prior []float64 // gradient of the shared prior
	signs []int

	kurtosis model.Kurtosis
	weave    *model.Interweave // nil unless pooling is partial
}

func newSites(t *model.Joint, clamping bool) *sites {
	f := &sites{hub: model.NewHub(t), kurtosis: t.Prior.Kurtosis}
	f.lead = f.hub.Dim()
	f.base = f.lead
	if t.Partial {
		f.base -= f.hub.Spread.Dim()
		f.theta = t.Shape.Q() + 1
	}
	for j := range t.Sites {
		f.all = append(f.all, newJointSite(t, j, clamping))
	}
	m := t.Shape.M()
	f.block = f.theta + f.all[0].hub.Dim() - f.lead + m
	at := f.lead + f.block*len(f.all)
	for _, s := range f.all {
		f.rows = append(f.rows, at)
		at += m * (s.n - 1)
	}
	f.rows = append(f.rows, at)
	f.prior, f.signs = make([]float64, f.lead), f.allSigns()
	if t.Partial {
		var of []*model.Pooled
		for _, s := range f.all {
			of = append(of, s.pooled)
		}
		f.weave = model.NewInterweave(f.hub, of)
	}
	return f
}

// Dim returns the number of coordinates.
func (f *sites) Dim() int { return f.rows[len(f.all)] }

// at is where a site's block begins.
func (f *sites) at(j int) int { return f.lead + j*f.block }

func (f *sites) part(x []float64, j int) part {
	block, first := x[f.at(j):f.at(j+1)], f.block-f.all[j].m
	return part{block[:f.theta], block[f.theta:first], block[first:], x[f.rows[j]:f.rows[j+1]]}
}

// LogDensity returns the log density up to a constant, and its gradient.
func (f *sites) LogDensity(grad, x []float64) (float64, error) {
	f.hub.Constrain(x[:f.lead])
	for _, s := range f.all {
		s.hub.Params.LogW = f.hub.Params.LogW
	}
	again := float64(len(f.all) - 1)
	logp := -again * f.hub.LogPrior(f.prior, x[:f.lead])
	floats.ScaleTo(grad[:f.lead], -again, f.prior)
	for j, s := range f.all {
		f.set(x, j)
		g := f.part(grad, j)
		v, ok := s.add(g, f.part(x, j))
		if !ok {
			return 0, nuts.ErrReject
		}
		logp += v
		floats.Add(grad[:f.base], s.grad[:f.base])
		own := s.grad[f.base:]
		own = own[copy(g.covariates, own):]
		floats.Add(grad[f.base:][:len(own)], own)
	}
	if math.IsNaN(logp) {
		return 0, nuts.ErrReject
	}
	return logp, nil
}

// set takes φ_j, and (θ_j, σ_j), of x.
func (f *sites) set(x []float64, j int) {
	f.parameters(x, j)
	if s := f.all[j]; s.pooled != nil {
		s.pooled.Set(f.part(x, j).coefficients)
	}
}

// parameters takes φ_j of x.
func (f *sites) parameters(x []float64, j int) {
	s := f.all[j]
	at := copy(s.phi, x[:f.base])
	at += copy(s.phi[at:], f.part(x, j).covariates)
	copy(s.phi[at:], x[f.base:f.lead])
	s.hub.Constrain(s.phi)
}

// hold writes the coordinates of every (θ_j, σ_j) as it is to x, whose shared parameters,
// or those themselves, have moved.
func (f *sites) hold(x []float64) {
	for j, s := range f.all {
		f.parameters(x, j)
		s.pooled.Coordinates(f.part(x, j).coefficients)
	}
}

// newSitesKernel starts a chain of sites. Its moves flip signs and, where pooling is partial,
// move Ω with every θ_j held.
func newSitesKernel(t *model.Joint, clamping bool, rng *rand.Rand) (*nuts.Sampler, error) {
	f := newSites(t, clamping)
	o := nuts.Options{Dense: f.lead}
	for range f.all {
		o.Blocks = append(o.Blocks, f.block)
	}
	return begin(f, o, func(x []float64) bool { return f.start(t, x, rng) })
}

// Move flips, moves w, and interweaves.
func (f *sites) Move(k *nuts.Sampler, rng *rand.Rand) {
	f.flip(k, rng)
	f.kurtosis.Renew(&f.hub.Params.LogW, k, rng)
	if f.weave != nil {
		f.interweave(k, rng)
	}
}

// flip negates a mean or a coefficient; see density.Move.
func (f *sites) flip(k *nuts.Sampler, rng *rand.Rand) {
	at := f.signs[rng.IntN(len(f.signs))]
	x, _ := k.Proposal()
	f.negate(x, at)
	k.Try(x, rng)
}

// interweave moves the spread and its centre, and takes each site's coordinates of the same (θ_j, σ_j).
func (f *sites) interweave(k *nuts.Sampler, rng *rand.Rand) {
	x, _ := k.Proposal()
	f.hub.Constrain(x[:f.lead])
	for j := range f.all {
		f.set(x, j)
	}
	f.weave.Step(x[:f.lead], rng)
	f.hold(x)
	k.Put(x)
}

// Reach makes the noise's slopes the derivative about x.
func (f *sites) Reach(x []float64) {
	f.LogDensity(make([]float64, len(x)), x) // the statistics at x
	for _, s := range f.all {
		s.noise.Reach(s.s)
	}
}

// Write writes the parameters in the order of model.Joint.Names.
func (f *sites) Write(dst, x []float64) {
	f.hub.Constrain(x[:f.lead])
	at := f.hub.Write(dst)
	for j, s := range f.all {
		if s.pooled != nil {
			f.set(x, j)
			at += s.pooled.Write(dst[at:])
		}
	}
}

// allSigns lists what flips negate, by coordinate: coefficients and means.
func (f *sites) allSigns() []int {
	signs := f.hub.Signs()
	for j := range f.all {
		for k := range f.theta - 1 { // σ_j has no sign
			signs = append(signs, f.at(j)+k)
		}
		if !f.hub.Shared() {
			for i := range f.hub.Shape.P {
				signs = append(signs, f.at(j)+f.theta+i)
			}
		}
	}
	return signs
}

// negate negates what signs has at a coordinate. Where pooling is partial, a coefficient
// of θ goes with those of all θ_j, and a coordinate of θ_j stands for its coefficient. At
// fixed Ω the coordinates of θ_j are linear in θ and θ_j, so that this is an involution of
// Jacobian 1.
func (f *sites) negate(x []float64, at int) {
	k, of := at, f.all
	if behind := at - f.lead; behind >= 0 {
		k, of = behind%f.block, f.all[behind/f.block:][:1]
	}
	if k >= f.theta {
		x[at] = -x[at]
		return
	}
	for j := range f.all {
		f.set(x, j)
	}
	for _, s := range of {
		s.pooled.Theta[k] = -s.pooled.Theta[k]
	}
	if at == k {
		x[at] = -x[at]
	}
	f.hold(x)
}

// start writes a point to start from: of each release z with noise drawn anew,
// projected; the parameters from their conjugate laws given these; residuals from
// theirs. Where pooling is partial each (θ_j, σ_j) is from its release alone, θ and log σ² are the
// means over releases, and Ω is from about its prior. It reports false where the parameters
// cannot be computed with.
func (f *sites) start(t *model.Joint, x []float64, rng *rand.Rand) bool {
	q, rows := t.Shape.Statistics(), 0.0
	total, params := make([]float64, q), model.NewParams(t.Shape)
	theta, sigma2 := make([]float64, f.theta), 0.0
	conditionals, projection := model.NewConditionals(t.Shape, t.Prior, true), model.NewProjection(t.Shape.M())
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for j, site := range t.Sites {
		s := make([]float64, q)
		for i, z := range site.Z {
			s[i] = z + math.Sqrt(site.Variance(i))*rng.NormFloat64()
		}
		projection.Apply(s, site.N)
		site.Units.Common(s, s, site.N)
		floats.Add(total, s)
		rows += site.N
		k := f.all[j]
		if !conditionals.Draw(params, s, site.N, rng) || !k.hub.Unconstrain(k.phi, params) {
			return false
		}
		copy(f.part(x, j).covariates, k.phi[f.base:])
		if t.Partial {
			k.pooled.Take(params)
			floats.AddScaled(theta[:len(params.Theta)], 1/float64(len(t.Sites)), params.Theta)
			sigma2 += math.Log(params.Sigma2) / float64(len(t.Sites))
		}
	}
	if !conditionals.Draw(params, total, rows, rng) {
		return false
	}
	if t.Partial {
		copy(params.Theta, theta)
		params.Sigma2 = math.Exp(sigma2)
		f.hub.Spread.Start(x[f.base:f.lead], rng)
	}
	if !f.hub.Unconstrain(x[:f.lead], params) {
		return false
	}
	if t.Partial {
		f.hold(x)
	}
	return true
}
