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

func newHMC(t target, metric metric, most int, accept float64) *hmc {
	k := t.Dim()
	vec := func() []float64 { return make([]float64, k) }
	return &hmc{target: t, metric: metric, most: most, stepSize: nuts.StepSize{Target: accept},
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

// test is Metropolis', of a log ratio.
func (t *transition) test(gain float64, rng *rand.Rand) bool {
	if t.accept = math.Min(1, math.Exp(gain)); !(t.accept >= 0) {
		t.accept = 0
	}
	t.accepted = rng.Float64() < t.accept
	return t.accepted
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

	for i := range h.momentum {
		h.momentum[i] = rng.NormFloat64()
	}
	kinetic := dot(h.momentum, h.momentum)
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
	gain := end - logp - 0.5*(dot(h.momentum, h.momentum)-kinetic)
	t.divergent = !(gain > -maxEnergyError)
	t.logDensity = logp
	if t.test(gain, rng) {
		copy(x, h.prop)
		t.logDensity = end
	}
	return t
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func axpy(dst []float64, a float64, x []float64) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += a * v
	}
}

// mover moves coordinates of a density with Laplace's kinks in it: by HMC, and now and
// then by negating one whose sign the quadratic statistics may leave open. Both are
// reversible.
type mover struct {
	*hmc
	flips  target // the density, in coordinates in which flips are made
	fisher *fisher
	signs  []int
	last   transition
	moved  bool // the last was HMC
}

const (
	// kinkedAccept is the acceptance that steps along a slope which is not the density's
	// are adapted to; see docs/mcmc-exact.md.
	kinkedAccept = 0.65
	// fewLeapfrogs bounds trajectories of some coordinates, between which others move;
	// manyLeapfrogs those of all there are.
	fewLeapfrogs, manyLeapfrogs = 6, 20
)

func newMover(t, flips target, signs []int, most int) *mover {
	f := newFisher(t.Dim())
	k := &mover{hmc: newHMC(t, f, most, kinkedAccept), flips: flips, fisher: f, signs: signs}
	k.restart(firstStepSize)
	return k
}

func (k *mover) step(x []float64, rng *rand.Rand) transition {
	if k.choose(rng); k.moved {
		k.last = k.hmc.step(x, rng)
	} else {
		k.last = k.flip(x, rng)
	}
	return k.last
}

// choose decides what the next step is.
func (k *mover) choose(rng *rand.Rand) { k.moved = len(k.signs) == 0 || rng.Float64() >= flipShare }

func (k *mover) flip(x []float64, rng *rand.Rand) transition {
	t := transition{logDensity: k.flips.LogDensity(k.grad, x)}
	copy(k.prop, x)
	at := k.signs[rng.IntN(len(k.signs))]
	k.prop[at] = -k.prop[at]
	after := k.flips.LogDensity(k.propGrad, k.prop)
	if t.test(after-t.logDensity, rng) {
		copy(x, k.prop)
		t.logDensity = after
	}
	return t
}

// adapt takes the last step, which ended at x, into warm-up; see clt.Adapt.
func (k *mover) adapt(x []float64, iteration, warmup int) {
	done := iteration + 1
	if k.moved {
		k.stepSize.Update(k.last.accept)
		if done > share(firstWindow/2, warmup) {
			k.fisher.add(x, k.grad)
		}
	}
	if windowCloses(done, warmup) && k.fisher.Update() {
		k.restart(whitenedStep)
	}
	if done == warmup {
		k.stepSize.Settle()
	}
}

// The metric of HMC, and the slope of a latent count, are estimated in windows of warm-up of
// doubling length that end at 0.1, 0.2, 0.4 and 0.9; after each the step size starts anew, and at
// the end it settles. The first half of the first window, which may be far from home, is left out.
var windowEnds = [...]float64{0.1, 0.2, 0.4, 0.9}

const (
	firstWindow   = 0.1
	firstStepSize = 0.1 // in the metric of warm-up's start, the identity
	whitenedStep  = 0.7 // a guess once the metric has been estimated
)

func share(of float64, warmup int) int { return int(of * float64(warmup)) }

// windowCloses tells whether a window of warm-up ends with the last of done steps.
func windowCloses(done, warmup int) bool {
	for _, end := range windowEnds {
		if done == share(end, warmup) {
			return true
		}
	}
	return false
}
