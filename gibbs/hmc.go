package gibbs

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
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
	kinetic := dense.Dot(h.momentum, h.momentum)
	copy(h.prop, x)
	h.metric.Pull(h.force, h.grad)
	end := logp
	t := transition{}
	for t.leapfrogs < steps && !math.IsInf(end, -1) {
		floats.AddScaled(h.momentum, 0.5*eps, h.force)
		h.metric.Push(h.prop, eps, h.momentum)
		end = h.target.LogDensity(h.propGrad, h.prop)
		t.leapfrogs++
		h.metric.Pull(h.force, h.propGrad)
		floats.AddScaled(h.momentum, 0.5*eps, h.force)
	}
	gain := end - logp - 0.5*(dense.Dot(h.momentum, h.momentum)-kinetic)
	t.divergent = !(gain > -maxEnergyError)
	t.logDensity = logp
	if t.test(gain, rng) {
		copy(x, h.prop)
		t.logDensity = end
	}
	return t
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
	return slices.ContainsFunc(windowEnds[:], func(end float64) bool { return done == share(end, warmup) })
}

// fisher is a metric from draws x of warm-up and the gradients g of the log density there:
// Σ = F Fᵀ with
//
//	Σ G Σ = C,   G = E ggᵀ,   C = Cov x,
//
// which is of least Fisher divergence between the density whitened by F and a standard
// normal (Seyboldt, Carlson & Carpenter 2026, "Preconditioning Hamiltonian Monte Carlo by
// minimizing Fisher divergence"). G alone tells how wide the densities are when others
// are held, C where they lie and along which ridges. With G = LLᵀ and LᵀCL = VΛVᵀ,
//
//	F = L⁻ᵀ V Λ^¼.
type fisher struct {
	k               int
	factor          []float64 // F, k×k
	count           float64
	mean            []float64 // of x
	draws, slopes   []float64 // sums of squares about the mean, and of ggᵀ: lower triangles
	delta           []float64
	lower, products []float64 // scratch
	values, vectors []float64
	work            []float64
}

func newFisher(k int) *fisher {
	vec := func() []float64 { return make([]float64, k) }
	square := func() []float64 { return make([]float64, k*k) }
	f := &fisher{k: k, factor: square(), mean: vec(), draws: square(), slopes: square(), delta: vec(),
		lower: square(), products: square(), values: vec(), vectors: square(), work: square()}
	for i := range k {
		f.factor[i*k+i] = 1
	}
	return f
}

func (f *fisher) Push(dst []float64, a float64, p []float64) {
	for i := range dst {
		dst[i] += a * dense.Dot(f.factor[i*f.k:(i+1)*f.k], p)
	}
}

func (f *fisher) Pull(dst, g []float64) {
	clear(dst)
	for i, v := range g {
		floats.AddScaled(dst, v, f.factor[i*f.k:(i+1)*f.k])
	}
}

// add takes a draw and the gradient there.
func (f *fisher) add(x, g []float64) {
	f.count++
	for i, v := range x {
		f.delta[i] = v - f.mean[i]
		f.mean[i] += f.delta[i] / f.count
	}
	for i, v := range g {
		at := i * f.k
		floats.AddScaled(f.slopes[at:at+i+1], v, g[:i+1])
		floats.AddScaled(f.draws[at:at+i+1], x[i]-f.mean[i], f.delta[:i+1])
	}
}

// Update takes the metric of the window, correlations shrunk by n/(n + 5 + k), and starts
// a new one. It reports false, and leaves F as it is, where some coordinate never moved.
func (f *fisher) Update() bool {
	ok := f.estimate()
	f.count = 0
	for _, v := range [][]float64{f.mean, f.draws, f.slopes} {
		clear(v)
	}
	return ok
}

func (f *fisher) estimate() bool {
	k := f.k
	shrink := f.count / (f.count + 5 + float64(k))
	for i := range k {
		for j := range i {
			f.draws[i*k+j] *= shrink
			f.slopes[i*k+j] *= shrink
		}
		if !(f.draws[i*k+i] > 0) {
			return false
		}
	}
	copy(f.lower, f.slopes)
	if !dense.Cholesky(f.lower, k) {
		return false
	}
	dense.Symmetrise(f.draws, k)
	for i := range k { // CL, then LᵀCL, both without 1/n
		dense.MulLowerTVec(f.work[i*k:(i+1)*k], f.lower, k, f.draws[i*k:(i+1)*k])
	}
	for i := range k {
		for j := range i + 1 {
			sum := 0.0
			for h := i; h < k; h++ {
				sum += f.lower[h*k+i] * f.work[h*k+j]
			}
			f.products[i*k+j] = sum
		}
	}
	if !dense.SymEigen(f.values, f.vectors, f.products, k, f.work) {
		return false
	}
	for j, v := range f.values {
		if !(v > 0) {
			return false
		}
		// C has 1/(n−1) and L 1/√n: LᵀCL 1/(n(n−1)), and L⁻ᵀ √n.
		scale := math.Sqrt(f.count) * math.Pow(v/(f.count*(f.count-1)), 0.25)
		column := f.work[:k]
		for i := range k {
			column[i] = f.vectors[i*k+j]
		}
		dense.SolveLowerT(f.lower, k, column)
		for i, u := range column {
			f.factor[i*k+j] = scale * u
		}
	}
	return true
}
