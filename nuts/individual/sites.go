package individual

import (
	"math"

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
	weave *model.Interweave // nil unless pooling is partial
}

func newSites(t *model.Joint, clamping bool) *sites {
	f := &sites{hub: model.NewHub(t)}
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
	again := float64(len(f.all) - 1)
	logp := -again * f.hub.LogPrior(f.prior, x[:f.lead])
	for i, g := range f.prior {
		grad[i] = -again * g
	}
	for j, s := range f.all {
		f.set(x, j)
		g := f.part(grad, j)
		v, ok := s.add(g, f.part(x, j))
		if !ok {
			return 0, nuts.ErrReject
		}
		logp += v
		for i, v := range s.grad[:f.base] {
			grad[i] += v
		}
		own := s.grad[f.base:]
		own = own[copy(g.covariates, own):]
		for i, v := range own {
			grad[f.base+i] += v
		}
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
