package gibbs

import (
	"math"
	"math/rand/v2"
)

// target is a differentiable log density, −∞ where it cannot be computed.
type target interface {
	Dim() int
	LogDensity(grad, x []float64) float64
}

// hmc is Hamiltonian Monte Carlo (Neal 2011) in coordinates whitened by a
// metric: x = Fu with F Fᵀ near the target's covariance, so that u is near
// isotropic. Each transition integrates for a uniform number of leapfrog steps,
// up to half a period of a standard normal, and ends in a Metropolis test.
//
// The number of steps and the momentum do not depend on x, so the transition
// is reversible with respect to the target: the correction for the exact law of
// s is a Metropolis–Hastings test around it and needs just that, which a
// trajectory chosen by its own end, as in NUTS with biased progressive
// sampling, does not offer.
type hmc struct {
	target   target
	metric   *metric
	stepSize *stepSize

	grad, prop, propGrad []float64
	momentum, velocity   []float64
}

func newHMC(t target) *hmc {
	k := t.Dim()
	vec := func() []float64 { return make([]float64, k) }
	return &hmc{target: t, metric: newMetric(k), stepSize: &stepSize{},
		grad: vec(), prop: vec(), propGrad: vec(), momentum: vec(), velocity: vec()}
}

// transition is what became of one move.
type transition struct {
	logDensity float64 // at the point the move ends
	accept     float64 // Metropolis acceptance probability
	leapfrogs  int
	accepted   bool
	divergent  bool
}

// halfPeriod is how long a trajectory lasts at most: over a time uniform in
// (0, π) the covariance of start and end, cos t, averages to zero on a
// standard normal.
const halfPeriod = math.Pi

// maxLeapfrogs bounds a trajectory where the step size is still adapting.
const maxLeapfrogs = 64

// maxEnergyError marks a divergence, as in Stan.
const maxEnergyError = 1000

// step moves x by one transition.
func (h *hmc) step(x []float64, rng *rand.Rand) transition {
	logp := h.target.LogDensity(h.grad, x)
	eps := h.stepSize.value() * (0.9 + 0.2*rng.Float64())
	most := min(maxLeapfrogs, max(1, int(math.Round(halfPeriod/eps))))
	steps := 1 + rng.IntN(most)

	kinetic := 0.0
	for i := range h.momentum {
		z := rng.NormFloat64()
		h.momentum[i] = z
		kinetic += z * z
	}
	copy(h.prop, x)
	h.metric.pull(h.velocity, h.grad)
	end := logp
	t := transition{}
	for t.leapfrogs < steps && !math.IsInf(end, -1) {
		axpy(h.momentum, 0.5*eps, h.velocity)
		h.metric.push(h.velocity, h.momentum)
		axpy(h.prop, eps, h.velocity)
		end = h.target.LogDensity(h.propGrad, h.prop)
		t.leapfrogs++
		h.metric.pull(h.velocity, h.propGrad)
		axpy(h.momentum, 0.5*eps, h.velocity)
	}
	endKinetic := 0.0
	for _, p := range h.momentum {
		endKinetic += p * p
	}
	gain := end - logp - 0.5*(endKinetic-kinetic)
	t.divergent = !(gain > -maxEnergyError)
	if !t.divergent {
		t.accept = math.Min(1, math.Exp(gain))
	}
	t.logDensity = logp
	if t.accepted = rng.Float64() < t.accept; t.accepted {
		copy(x, h.prop)
		t.logDensity = end
	}
	return t
}

func axpy(dst []float64, a float64, x []float64) {
	for i, v := range x {
		dst[i] += a * v
	}
}
