package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// entryVariance is about that of an entry of one row's statistics, in units of the box.
const entryVariance = 0.1

// start writes a point to start from, as dispersed as z and the prior allow: the
// statistics of each release as where it stands alone (kernel.start), the shared
// parameters from their law given all of these, each weighted by the part of its variance
// that is of sampling and not of noise: the sum as it is would have the noise of the worst
// release, and the ascent start too far below the mode to reach it. Where pooling is
// partial each (θ_j, σ_j) from that of its release alone and the spread from about its prior, and
// (f, A) between those that statistics and parameters have and new ones, by precision. It reports
// false where rounding forbids.
func (f *joint) start(t *model.Joint, y []float64, rng *rand.Rand) bool {
	conditionals := model.NewConditionals(t.Shape, t.Prior, true)
	params, q := model.NewParams(t.Shape), t.Shape.Statistics()
	total, rows := vec(q), 0.0
	all, counts := make([][]float64, len(f.spokes)), vec(len(f.spokes))
	if f.levels {
		f.startRows(counts, rng)
	}
	for j, part := range f.spokes {
		s := part.common()
		if !f.levels {
			counts[j] = s.StartRows(rng)
		}
		n := counts[j]
		own := newStatistics(s.Shape.M())
		own.disperse(s.Observation, n, rng)
		stats := own.s
		s.Units.Common(stats, stats, n)
		all[j] = stats
		if s.Columns != nil {
			stats = vec(q)
			release.AddLevel(stats, s.Columns, n, all[j])
		}
		weight := n * entryVariance / (n*entryVariance + s.Variance(0))
		addScaled(total, weight, stats)
		rows += weight * n
	}
	if !conditionals.Draw(params, total, rows, rng) || f.hub.Spread != nil && !f.coefficients(t, params, conditionals, all, counts, rng) {
		return false
	}
	if t.Family != model.Normal && f.hub.Spread == nil {
		familyOf(t.Family, t.Sites[0].Upper).link(params)
	}
	x := vec(f.Dim())
	hub := x[:f.at[0]]
	if !f.hub.Unconstrain(hub, params) {
		return false
	}
	if f.hub.Spread != nil {
		f.hub.Spread.Start(hub[len(hub)-f.hub.Spread.Dim():], rng)
	}
	f.hub.Constrain(hub)
	for j, s := range f.spokes {
		if !s.place(x[f.at[j]:f.at[j+1]], all[j], counts[j], rng) {
			return false
		}
	}
	return f.fit(y, x)
}

// fit puts the map, and the reach of the noise's slopes, where they belong at the mode that
// an ascent reaches from x: starts are dispersed, and at x itself the map would make another
// law standard. It writes the first point of the ascent from which trajectories find on. It reports
// false where not even x has a map.
func (f *joint) fit(y, x []float64) bool {
	if !f.standardise(x) {
		return false
	}
	f.frame.toY(y, x)
	way, mode := ascend(f, y), vec(len(x))
	f.frame.toX(x, way.first())
	f.frame.toX(mode, way.mode())
	if f.standardise(mode) {
		f.frame.toY(y, mode)
		f.Reach(y)
	} else if !f.standardise(x) {
		return false
	}
	f.frame.toY(y, x)
	return true
}

// link is a model.Link, as linked guesses: β is about the line's, of y in [0, 1], over E g′, and η at the covariates'
// mean what that of y tells.
func (of family) link(x *model.Params) (per, variance float64) {
	p := len(x.MuX)
	first := len(x.Theta) - p
	beta, line := x.Theta[first:], 0.0
	if first > 0 {
		line = x.Theta[0]
	}
	line += dot(beta, x.MuX)
	const least = 0.02
	y := max(least, min(1-least, 0.5*(1+line)))
	eta, _, along, variance := of.outset(y, min(0.25*dense.QuadForm(x.Tau, p, beta), 0.8*y*(1-y)))
	for j := range beta {
		beta[j] *= 0.5 / along
	}
	square := dense.QuadForm(x.Tau, p, beta)
	if first > 0 {
		x.Theta[0] = eta*math.Sqrt(1+of.steep*square) - 0.5*of.lift*square - dot(beta, x.MuX)
	}
	return 2 * along, 4 * variance
}

// coefficients draws each (θ_j, σ_j) from its release alone, with θ and log σ their means: all rows
// together would take for noise what custodians differ by, and the ascent would start too
// far below the mode to reach it.
func (f *joint) coefficients(t *model.Joint, params *model.Params, conditionals *model.Conditionals, all [][]float64, counts []float64, rng *rand.Rand) bool {
	own, share, log := model.NewParams(f.hub.Shape), 1/float64(len(f.spokes)), 0.0
	clear(params.Theta)
	for j, s := range f.spokes {
		if !conditionals.Draw(own, all[j], counts[j], rng) {
			return false
		}
		if t.Family != model.Normal {
			familyOf(t.Family, t.Sites[j].Upper).link(own)
		}
		s.common().pooled.Take(own)
		addScaled(params.Theta, share, own.Theta)
		log += share * math.Log(own.Sigma2)
	}
	params.Sigma2 = math.Exp(log)
	return true
}

// place writes coordinates near those of statistics in common units, given the hub and,
// where pooling is partial, θ_j and σ_j; those of y's sums as if they were standard normal.
func (s *spoke) place(x, stats []float64, n float64, rng *rand.Rand) bool {
	s.rows.set(x, n)
	if s.Columns != nil {
		x[0] = 0.5 * rng.NormFloat64()
		s.takeOwn(x)
	}
	s.takeSigma()
	t := newStatistics(s.m)
	if !t.take(stats, n) {
		return false
	}
	if s.x != nil {
		s.x.columns.place(x[s.lead():], t)
		for i := s.lead() + s.x.columns.end(); i < s.bartlett(); i++ {
			x[i] = rng.NormFloat64()
		}
	}
	r, root, at, m := math.Sqrt(s.Variance(0))/n, math.Sqrt(n), s.bartlett(), s.m
	// between is a standard normal coordinate seen with an error of this sd.
	between := func(seen, sd float64) float64 {
		return (seen + sd*sd*rng.NormFloat64()) / (1 + sd*sd)
	}
	if s.from < s.p {
		s.takeBartlett(t)
	}
	for i := s.from; i < s.p; i++ {
		a, sd := s.a[i*m:i*m+i+1], s.hub.Factor()[i*s.p+i]
		x[at] = between(root*s.f[i], root*r/sd)
		for k := range i {
			x[at+1+k] = between(root*a[k], root*r/(sd*t.d[k*m+k]))
		}
		wide := math.Sqrt(2 * n) // of log A_ii, the inverse sd
		x[at+1+i] = between(wide*math.Log(a[i]), wide*r/(2*t.d[i*m+i]*t.d[i*m+i])) / wide
		at += i + 2
	}
	for i := at; i < len(x)-s.rows.dim(); i++ {
		x[i] = rng.NormFloat64()
	}
	if s.told != nil {
		own := slices.Clone(s.pooled.Own)
		s.set(x) // the rows of x
		copy(s.pooled.Own, own)
		s.takeSigma()
		if !s.told.take(s.noisy.statistics, s.sigma) {
			return false
		}
	}
	if s.pooled != nil {
		s.pooled.Coordinates(x)
	}
	return s.family == nil || s.set(x) || s.family.expected(x[s.ofY():], s.noisy.statistics)
}

// takeBartlett takes f = L⁻¹(x̄ − μ_x), and row by row A = L⁻¹D_x, of v̄ and D, given the hub.
func (s *spoke) takeBartlett(t *statistics) {
	m, p, l := s.m, s.p, s.hub.Factor()
	floats.SubTo(s.f, t.mean[:p], s.hub.Params.MuX)
	dense.SolveLower(l, p, s.f)
	for i := range p {
		row := s.a[i*m : i*m+i+1]
		copy(row, t.d[i*m:])
		for h := range i {
			addScaled(row[:h+1], -l[i*p+h], s.a[h*m:])
		}
		floats.Scale(1/l[i*p+i], row)
	}
}
