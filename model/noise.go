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
	obs    *Observation
	per    []float64 // 1/b or 1/σ
	kink2  float64   // Laplace: the square of the width within which the kink is rounded off
	start  float64   // normal: that of the distance from the centre from which walls are linear,
	wall2  []float64 // at least; and that of each statistic
	centre []float64 // the residual in the middle between walls, 0 unless Centre was there
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
	f := &Noise{obs: o, start: wallStart * wallStart, kink2: kinkWidth * kinkWidth * math.Min(1, manyKinks/float64(len(o.Z))),
		wall2: make([]float64, len(o.Z)), centre: make([]float64, len(o.Z)), per: make([]float64, len(o.Z))}
	for i, scale := range o.Scale {
		f.per[i], f.wall2[i] = 1/scale, f.start
	}
	return f
}

// LogDensity returns log p(z_i | s_i) up to a constant, and the slope in s_i. With
// r = z_i − s_i,
//
//	Laplace  log p = −|r|/b        slope = r / (b √(r² + (kb)²)),  k = ¼ min(1, √(27/q))
//	normal   log p = −½ (r/σ)²     slope = (c + v/√(1 + (v/w)²)) / σ,  v = r/σ − c,  w = 3, c = 0,
//
// or as Widen has w and Centre c.
func (f *Noise) LogDensity(i int, s float64) (logp, slope float64) {
	per := f.per[i]
	u := (f.obs.Z[i] - s) * per
	if f.obs.Kind == release.Laplace {
		return -math.Abs(u), per * u / math.Sqrt(u*u+f.kink2)
	}
	c := f.centre[i]
	v := u - c
	return -0.5 * u * u, per*c + per*v/math.Sqrt(1+v*v/f.wall2[i])
}

// LogCount returns log p(noisy count | n) up to a constant, n any real number, and the
// slope in n.
func (f *Noise) LogCount(n float64) (logp, slope float64) { return f.obs.Count.logNoise(n, f.start) }

// Centre puts the middle between the normal law's walls at the residuals of statistics
// s, the posterior's mode: there the slope is the density's own. Where releases or a prior
// contradict one another, residuals at the mode are of many σ, and about 0 walls would have
// their mode elsewhere. Like Widen it changes no density, and is for warm-up.
func (f *Noise) Centre(s []float64) {
	for i, v := range s {
		f.centre[i] = (f.obs.Z[i] - v) * f.per[i]
	}
}

// Widen moves the normal law's walls to twice the distance of the residuals of statistics
// s from the centre, where that is large: z may be one that no rows come near, and a slope
// that is far from the density's where the posterior lies would leave no step to take. It
// changes no density, and is for warm-up.
func (f *Noise) Widen(s []float64) {
	for i, v := range s {
		u := 2*(f.obs.Z[i]-v)/f.obs.Scale[i] - 2*f.centre[i]
		f.wall2[i] = math.Max(f.start, u*u)
	}
}
