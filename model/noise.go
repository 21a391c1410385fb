package model

import (
	"math"

	"github.com/dpreg/dpreg/release"
)

// Noise is the law of the release's noise, with slopes for Hamiltonian dynamics to
// follow: those of a smoother density nearby. A leapfrog step along any field is
// reversible and keeps volume, so that a sampler which weighs its points by the
// density itself stays exact. Along the derivative proper, each passage of
// Laplace's kink would cost an error of first order in the step; and s_i being
// quadratic in the rows, the normal law's walls would be quartic, and unstable for
// any step.
//
// Each chain has its own.
type Noise struct {
	obs   *Observation
	per   []float64 // 1/b or 1/σ
	kink2 float64   // Laplace: the square of the width within which the kink is rounded off
	start float64   // normal: that of the residual from which the walls are linear,
	wall2 []float64 // at least; and that of each statistic
}

// The kink is rounded off within a quarter of b, less where many statistics have
// kinks: the error of each adds to the energy's. Walls turn linear beyond 3 σ.
const (
	kinkWidth = 0.25
	manyKinks = 27 // statistics, of five covariates with a constant
	wallStart = 3
)

// NewNoise returns the law of an observation's noise.
func NewNoise(o *Observation) *Noise {
	f := &Noise{obs: o, start: wallStart * wallStart, kink2: kinkWidth * kinkWidth * math.Min(1, manyKinks/float64(len(o.Z))), wall2: make([]float64, len(o.Z)), per: make([]float64, len(o.Z))}
	for i, scale := range o.Scale {
		f.per[i], f.wall2[i] = 1/scale, f.start
	}
	return f
}

// LogDensity returns log p(z_i | s_i) up to a constant, and the slope in s_i. With
// r = z_i − s_i,
//
//	Laplace  log p = −|r|/b        slope = r / (b √(r² + (kb)²)),  k = ¼ min(1, √(27/q))
//	normal   log p = −½ (r/σ)²     slope = r / (σ² √(1 + (r/wσ)²)),  w = 3, or as Widen has it.
func (f *Noise) LogDensity(i int, s float64) (logp, slope float64) {
	per := f.per[i]
	u := (f.obs.Z[i] - s) * per
	if f.obs.Kind == release.Laplace {
		return -math.Abs(u), per * u / math.Sqrt(u*u+f.kink2)
	}
	return -0.5 * u * u, per * u / math.Sqrt(1+u*u/f.wall2[i])
}

// LogCount returns log p(noisy count | n) up to a constant, n any real number, and the
// slope in n.
func (f *Noise) LogCount(n float64) (logp, slope float64) { return f.obs.Count.logNoise(n, f.start) }

// Widen moves the normal law's walls to twice the residuals of statistics s, where
// those are that large: z may be one that no rows come near, and a slope that is far
// from the density's where the posterior lies would leave no step to take. It changes
// no density, and is for warm-up.
func (f *Noise) Widen(s []float64) {
	for i, v := range s {
		u := 2 * (f.obs.Z[i] - v) / f.obs.Scale[i]
		f.wall2[i] = math.Max(f.start, u*u)
	}
}
