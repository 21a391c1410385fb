package model

import (
	"math"

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
	per   []float64 // 1/b or 1/σ
	kink2 float64   // Laplace: the square of the width within which the kink is rounded off
	reach []float64 // normal: of each statistic, the residual up to which slopes are the derivative
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
	f := &Noise{obs: o, kink2: kinkWidth * kinkWidth * math.Min(1, manyKinks/float64(together)),
		reach: make([]float64, len(o.Z)), per: make([]float64, len(o.Z))}
	for i, scale := range o.Scale {
		f.per[i], f.reach[i] = 1/scale, leastReach
	}
	return f
}

// LogDensity returns log p(z_i | s_i) up to a constant, and the slope in s_i. With
// r = z_i − s_i,
//
//	Laplace  log p = −|r|/b        slope = r / (b √(r² + (kb)²)),  k = ¼ min(1, √(27/q))
//	normal   log p = −½ (r/σ)²     slope = bend(r/σ) / σ,
//
// q the number of statistics that are moved together.
func (f *Noise) LogDensity(i int, s float64) (logp, slope float64) {
	per := f.per[i]
	u := (f.obs.Z[i] - s) * per
	if f.obs.Kind == release.Laplace {
		return -math.Abs(u), per * u / math.Sqrt(u*u+f.kink2)
	}
	return -0.5 * u * u, per * bend(u, f.reach[i])
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
func (f *Noise) LogCount(n float64) (logp, slope float64) { return f.obs.Count.logNoise(n) }

// Reach makes the slopes the derivative up to 4 σ beyond the residuals of statistics s:
// z may be one that no rows come near, or releases contradict one another, and residuals
// be of many σ where the posterior lies. It changes no density, and is for warm-up.
func (f *Noise) Reach(s []float64) {
	for i, v := range s {
		f.reach[i] = leastReach + math.Abs(f.obs.Z[i]-v)*f.per[i]
	}
}
