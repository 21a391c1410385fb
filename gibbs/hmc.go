package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/nuts"
)

// target is a differentiable log density, −∞ where it cannot be computed.
type target interface {
	Dim() int
	LogDensity(grad, x []float64) float64
}

// metric is a factor F with F Fᵀ near the target's covariance.
type metric interface {
	Push(dst []float64, a float64, p []float64) // adds a·Fp
	Pull(dst, g []float64)                      // writes Fᵀg
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
	metric   metric
	most     int // leapfrog steps
	stepSize nuts.StepSize

	grad, prop, propGrad []float64
	momentum, force      []float64
}

func newHMC(t target, metric metric) *hmc {
	k := t.Dim()
	vec := func() []float64 { return make([]float64, k) }
	return &hmc{target: t, metric: metric, stepSize: nuts.StepSize{Target: targetAccept}, most: maxLeapfrogs,
		grad: vec(), prop: vec(), propGrad: vec(), momentum: vec(), force: vec()}
}

// targetAccept is the mean acceptance that the step size is adapted to.
const targetAccept = 0.8

// restart looks for the step size anew from a guess, aiming at twice that: a step
// too large costs one leapfrog, one too small costs many.
func (h *hmc) restart(guess float64) { h.stepSize.Restart(guess, 2*guess) }

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
	eps := h.stepSize.Value() * (0.9 + 0.2*rng.Float64())
	most := min(h.most, max(1, int(math.Round(halfPeriod/eps))))
	steps := 1 + rng.IntN(most)

	kinetic := 0.0
	for i := range h.momentum {
		z := rng.NormFloat64()
		h.momentum[i] = z
		kinetic += z * z
	}
	copy(h.prop, x)
	h.metric.Pull(h.force, h.grad)
	end := logp
	t := transition{}
	for t.leapfrogs < steps && !math.IsInf(end, -1) {
		axpy(h.momentum, 0.5*eps, h.force)
		h.metric.Push(h.prop, eps, h.momentum)
		end = h.target.LogDensity(h.propGrad, h.prop)
		t.leapfrogs++
		h.metric.Pull(h.force, h.propGrad)
		axpy(h.momentum, 0.5*eps, h.force)
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
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += a * v
	}
}
