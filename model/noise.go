package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/release"
)

// Noise is the law of the release's noise, with slopes for Hamiltonian dynamics to
// follow: the derivative wherever the posterior has mass, but for Laplace's kink, and that
// of a density with thicker tails beyond. A leapfrog step along any field is reversible and
// keeps volume, so that a sampler which weighs its points by the density itself stays
// exact. Along Laplace's derivative proper, each passage of the kink would cost an error of
// first order in the step; and s_i being quadratic in the rows, a normal law is quartic in
// them, and one step that lands far out would be thrown back beyond return.
//
// Each chain has its own.
type Noise struct {
	obs   *Observation
	m     int       // columns
	per   []float64 // 1/b or 1/σ
	kink2 float64   // Laplace: the square of the width within which the kink is rounded off
	z     []float64 // what has noise: of obs, or of obs.Told
	all   []int     // places in z of obs
	reach []float64 // normal: of each statistic, the residual up to which slopes are the derivative
	each  []*Noise  // of several measurements, which it is the sum of; nil of one
	part  []float64 // slope of one of them

	told, byTold []float64 // entries of obs.Told, and the slope in them, where they are made of statistics
}

// The kink is rounded off within a quarter of b, less where many statistics have
// kinks: the error of each adds to the energy's. A normal residual passes 4 σ once in
// 16,000.
const (
	kinkWidth  = 0.25
	manyKinks  = 27 // statistics, of five covariates with a constant
	leastReach = 4
)

// NewNoise returns the law of an observation's noise.
func NewNoise(o *Observation) *Noise { return newNoise(o, len(o.Z)) }

// newNoise returns it where so many statistics are moved together.
func newNoise(o *Observation, together int) *Noise {
	z, scales := o.Z, o.Scale
	if o.Told != nil {
		z, scales = o.Told.Z, o.Told.Scale
	}
	f := &Noise{obs: o, m: o.Shape.M(), z: z, kink2: kinkWidth * kinkWidth * math.Min(1, manyKinks/float64(together)),
		reach: slices.Repeat([]float64{leastReach}, len(z)), per: make([]float64, len(z)), part: make([]float64, len(o.Z))}
	for i, scale := range scales {
		f.per[i], f.all = 1/scale, append(f.all, i)
	}
	if o.Told != nil && o.Told.Response != nil {
		f.told, f.byTold = make([]float64, len(z)), make([]float64, len(z))
	}
	for _, m := range o.Measurements {
		f.each = append(f.each, newNoise(m, together*len(o.Measurements)))
	}
	return f
}

// LogDensity returns log p(z | s) up to a constant, s in canonical order, or that of obs.Told, and writes its slope in s. With
// r = z − s, entry by entry,
//
//	Laplace  log p = −|r|/b        slope = r / (b √(r² + (kb)²)),  k = ¼ min(1, √(27/q))
//	normal   log p = −½ (r/σ)²     slope = bend(r/σ) / σ,
//
// q the number of statistics that are moved together; ball has that of all entries together.
func (f *Noise) LogDensity(slope, s []float64) (logp float64) {
	switch {
	case f.each != nil:
		clear(slope)
		for _, m := range f.each {
			logp += m.LogDensity(f.part, s)
			floats.Add(slope, f.part)
		}
	case f.told != nil:
		logp = f.ofResponse(slope, s)
	case f.obs.Told != nil:
		for i := range f.obs.Told.Parts {
			logp += f.Part(slope, s, i)
		}
	case f.obs.Kind == release.Ball:
		logp = f.ball(slope, s, f.all, f.obs.Freedom)
	default: // by columns, each with its products
		at, m := f.m, f.m
		for j := range m {
			logp += f.entry(slope, s, j)
			for range m - j {
				logp += f.entry(slope, s, at)
				at++
			}
		}
	}
	return logp
}

// ofResponse is LogDensity of sums by the levels of the response, s in their units.
func (f *Noise) ofResponse(slope, s []float64) (logp float64) {
	f.Made(s)
	for i := range f.obs.Told.Parts {
		logp += f.Part(f.byTold, f.told, i)
	}
	f.PullMade(slope)
	return logp
}

// Made takes statistics, and returns what has noise: themselves, or the sums by the levels of the response that they make.
func (f *Noise) Made(s []float64) []float64 {
	if f.told == nil {
		return s
	}
	for i, e := range f.obs.Told.Response.Entries {
		f.told[i] = e.Value(s, f.obs.N)
	}
	return f.told
}

// ByMade is the slope in what has noise, of which PullMade writes that in statistics.
func (f *Noise) ByMade(slope []float64) []float64 {
	if f.told == nil {
		return slope
	}
	return f.byTold
}

// PullMade is of statistics that have noise themselves the slope as it is.
func (f *Noise) PullMade(slope []float64) {
	if f.told == nil {
		return
	}
	clear(slope)
	for i, e := range f.obs.Told.Response.Entries {
		for k, at := range e.At {
			slope[at] += e.Weight[k] * f.byTold[i]
		}
	}
}

// Part is LogDensity of a part of obs.Told, and writes the slope there.
func (f *Noise) Part(slope, s []float64, i int) (logp float64) {
	part := f.obs.Told.Parts[i]
	if f.obs.Kind == release.Ball {
		return f.ball(slope, s, part.At, part.Freedom)
	}
	for _, at := range part.At {
		logp += f.entry(slope, s, at)
	}
	return logp
}

// entry is LogDensity of entry i, and writes the slope there.
func (f *Noise) entry(slope, s []float64, i int) (logp float64) {
	per := f.per[i]
	u := (f.z[i] - s[i]) * per
	if f.obs.Kind == release.Laplace {
		slope[i] = per * u / math.Sqrt(u*u+f.kink2)
		return -math.Abs(u)
	}
	slope[i] = per * bend(u, f.reach[i])
	return -0.5 * u * u
}

// ball is LogDensity of the entries at some places, √V times normal noise of the scales, V ~ χ² of F degrees. With
// u_i = r_i/σ_i of q entries and ν = ½(F − q),
//
//	p ∝ ∫ V^{ν−1} exp(−½(V + ‖u‖²/V)) dV ∝ ‖u‖^ν K_ν(‖u‖),
//
// which is exp(−‖u‖) where F = q + 1. Its slope in u is −K_{ν−1}/K_ν · u/‖u‖.
func (f *Noise) ball(slope, s []float64, at []int, freedom float64) float64 {
	norm := 0.0
	for _, i := range at {
		slope[i] = (f.z[i] - s[i]) * f.per[i]
		norm += slope[i] * slope[i]
	}
	norm = math.Sqrt(norm)
	logp, ratio := logBesselPower(0.5*(freedom-float64(len(at))), norm)
	for _, i := range at {
		slope[i] *= f.per[i] * ratio / max(norm, leastNorm)
	}
	return logp
}

// leastNorm keeps the slope finite at 0, where that of a norm has none.
const leastNorm = 1e-3

// logBesselPower returns log(x^ν K_ν(x)) up to a constant of ν, and K_{ν−1}/K_ν at x, for
// ν = ½, 1, 1½, …, x ≥ 0. With g_ν the first and R_ν the second,
//
//	R_{ν+1} = 1/(R_ν + 2ν/x),   g_{ν+1} = g_ν + log(x/R_{ν+1}),
//
// all terms positive (DLMF 10.29.1). They begin with g_½ = −x and R_½ = 1, or with ν = 1, see
// besselOne.
func logBesselPower(nu, x float64) (g, ratio float64) {
	x = math.Max(x, 1e-9)
	at := nu - math.Floor(nu)
	if g, ratio = -x, 1; at == 0 {
		at = 1
		g, ratio = besselOne(x)
	}
	for ; at < nu; at++ {
		ratio = 1 / (ratio + 2*at/x)
		g += math.Log(x / ratio)
	}
	return g, ratio
}

// besselOne returns log(x K_1(x)) and K_0/K_1 by
//
//	K_ν(x) = ∫₀^∞ exp(−x cosh t) cosh νt dt   (DLMF 10.32.9)
//
// and the trapezoid rule, which converges for such integrands as exp(−const/step). x cosh t − x
// is written 2x sinh²½t.
func besselOne(x float64) (g, ratio float64) {
	const step, enough = 0.25, 40
	h := step / math.Sqrt(1+x)
	zero, one := 0.5, 0.5
	for t := h; ; t += h {
		half := math.Sinh(t / 2)
		fall := 2 * x * half * half
		if !(fall <= enough+t) { // NaN, too, ends it
			break
		}
		w := math.Exp(-fall)
		zero += w
		one += w * math.Cosh(t)
	}
	return math.Log(x*h*one) - x, zero / one
}

// bend returns u where |u| ≤ w, and beyond ±(w + t/√(1 + t²)), t = |u| − w: it stays
// below w + 1, and has two continuous derivatives.
func bend(u, w float64) float64 {
	t := math.Abs(u) - w
	if t <= 0 {
		return u
	}
	return math.Copysign(w+t/math.Sqrt(1+t*t), u)
}

// LogCount returns log p(noisy count | n) up to a constant, n any real number, and the
// slope in n.
func (f *Noise) LogCount(n float64) (logp, slope float64) {
	if f.each == nil {
		return f.obs.Count.logNoise(n)
	}
	for _, m := range f.each {
		v, g := m.LogCount(n)
		logp, slope = logp+v, slope+g
	}
	return logp, slope
}

// Reach makes the slopes the derivative up to 4 σ beyond the residuals of statistics s:
// z may be one that no rows come near, or releases contradict one another, and residuals
// be of many σ where the posterior lies. It changes no density, and is for warm-up.
func (f *Noise) Reach(s []float64) {
	for _, m := range f.each {
		m.Reach(s)
	}
	for i, v := range f.Made(s) {
		f.reach[i] = leastReach + math.Abs(f.z[i]-v)*f.per[i]
	}
}

// MaxRows is the largest number of rows that a latent n may have: the end of
// its flat prior, public and the same for every release.
const MaxRows = 1e12

// Count is what a release says of the number of rows n where its neighbours
// are add-remove: n is noised like a statistic, by discrete noise on the
// integers, and latent. Its prior is flat on {Least, …, Most}.
type Count struct {
	Noisy float64 // the published count, an integer; it may be negative
	Kind  release.Kind
	Scale float64 // of the noise: b or σ; 0 where n is public
	Least float64 // m + 1: fewer rows have no scatter of full rank
	Most  float64 // MaxRows
}

// Latent reports whether n is noised.
func (c *Count) Latent() bool { return c.Scale > 0 }

// LogDensity returns log p(noisy count | n) + log prior, up to a constant; −∞
// outside the prior.
func (c *Count) LogDensity(n float64) float64 {
	if !(n >= c.Least && n <= c.Most) {
		return math.Inf(-1)
	}
	logp, _ := c.logNoise(n)
	return logp
}

// logNoise returns log p(noisy count | n) up to a constant, n any real number, and
// a slope in n as Noise.LogDensity has it. Gaussian noise was rounded to an integer, so
// that its law is the normal one's mass of a cell of length 1.
func (c *Count) logNoise(n float64) (logp, slope float64) {
	r := c.Noisy - n
	u := r / c.Scale
	if c.Kind == release.Laplace {
		return -math.Abs(u), u / (c.Scale * math.Sqrt(u*u+kinkWidth*kinkWidth))
	}
	logp, u = logNormalCell(math.Abs(r), c.Scale)
	return logp, math.Copysign(bend(u, leastReach), r) / c.Scale
}

// logNormalCell returns log P(r − ½ < X < r + ½) for X ~ N(0, σ²), r ≥ 0, and −σ times
// its derivative in r, which is r/σ where σ is large. Where the tail underflows, the
// cell's mass is its density at the inner end times the length σ²/r over which that falls
// off.
func logNormalCell(r, sigma float64) (logp, u float64) {
	inner, outer := (r-0.5)/sigma, (r+0.5)/sigma
	p := 0.5 * (math.Erfc(inner/math.Sqrt2) - math.Erfc(outer/math.Sqrt2))
	if p > 1e-290 {
		fall := math.Exp(-0.5*inner*inner) - math.Exp(-0.5*outer*outer)
		return math.Log(p), fall / (p * math.Sqrt(2*math.Pi))
	}
	return -0.5*inner*inner - math.Log(inner*math.Sqrt(2*math.Pi)) + math.Log(-math.Expm1(-inner/sigma)),
		inner + 1/inner - 1/(sigma*math.Expm1(inner/sigma))
}

// StartRows is a number of rows for a chain to start from: n where it is public, else the noisy count with
// noise drawn anew, moved into the prior's support.
func (o *Observation) StartRows(rng *rand.Rand) float64 {
	c := &o.Count
	if !c.Latent() {
		return o.N
	}
	e := rng.NormFloat64()
	if c.Kind == release.Laplace {
		e = math.Copysign(rng.ExpFloat64(), e)
	}
	return math.Min(c.Most, math.Max(c.Least, math.Round(c.Noisy+c.Scale*e)))
}

// RandNoise draws noise in float64, for replicates of releases that no one publishes.
func RandNoise(kind release.Kind, scale float64, rng *rand.Rand) float64 {
	if kind == release.Laplace {
		return scale * math.Copysign(rng.ExpFloat64(), rng.Float64()-0.5)
	}
	return scale * rng.NormFloat64()
}

// NoiseVariance is 2b² for Laplace noise of scale b.
func NoiseVariance(kind release.Kind, scale float64) float64 {
	if kind == release.Laplace {
		return 2 * scale * scale
	}
	return scale * scale
}

// Variance is that of the noise on entry i.
func (o *Observation) Variance(i int) float64 {
	if o.Kind == release.Ball {
		return o.Freedom * o.Scale[i] * o.Scale[i]
	}
	return NoiseVariance(o.Kind, o.Scale[i])
}

// AddNoise adds noise anew to s, of the scales times so much.
func (o *Observation) AddNoise(s []float64, times float64, rng *rand.Rand) {
	kind := o.Kind
	if kind == release.Ball {
		kind, times = release.Gaussian, times*math.Sqrt(variate.Chi2(o.Freedom, rng))
	}
	for i, scale := range o.Scale {
		s[i] += times * RandNoise(kind, scale, rng)
	}
}
