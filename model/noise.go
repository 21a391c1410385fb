package model

import (
	"math"

	"github.com/dpreg/dpreg/release"
)

// Where a slope departs from the derivative of log p(z | s): Laplace's kink is
// rounded off within a quarter of b, less where many statistics have kinks, and the
// normal law's quadratic walls turn into linear ones beyond 3 σ.
const (
	kinkWidth2 = 1. / 16
	manyKinks  = 27 // statistics, of five covariates with a constant
	wallStart2 = 9
)

// LogNoise returns log p(z_i | s_i) up to a constant, and a slope in s_i for
// Hamiltonian dynamics to follow. With r = z_i − s_i,
//
//	Laplace  log p = −|r|/b        slope = r / (b √(r² + (wb)²)),  w = ¼ min(1, √(27/q))
//	normal   log p = −½ (r/σ)²     slope = r / (σ² √(1 + (r/3σ)²)).
//
// The slope is the derivative of a smoother density that differs from p by a
// bounded factor near the kink, and in the tails only elsewhere. A leapfrog step
// along any field is reversible and keeps volume, so that a sampler which weighs
// its points by log p itself stays exact. Along the derivative proper, each passage
// of Laplace's kink would cost an error of first order in the step, and s_i being
// quadratic in the rows, normal walls would be quartic, and unstable for any step.
func (o *Observation) LogNoise(i int, s float64) (logp, slope float64) {
	u := (o.Z[i] - s) / o.Scale[i]
	slope = noiseSlope(o.Kind, u, len(o.Z)) / o.Scale[i]
	if o.Kind == release.Laplace {
		return -math.Abs(u), slope
	}
	return -0.5 * u * u, slope
}

// noiseSlope is the slope in units of the scale, at a residual in such units; q is
// the number of statistics.
func noiseSlope(kind release.Kind, u float64, q int) float64 {
	if kind == release.Laplace {
		return u / math.Sqrt(u*u+kinkWidth2*math.Min(1, manyKinks/float64(q)))
	}
	return u / math.Sqrt(1+u*u/wallStart2)
}
