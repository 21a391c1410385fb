package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// exact is the default sweep of gibbs-ss-update. Its stationary law is the
// posterior of (θ, σ², μ_x, T, n, s, ω) under the exact law of s for normal rows,
// with the CLT's as proposal:
//
//	(a) φ′ by a reversible kernel on the collapsed density, s integrated out
//	(b) s′ ~ p_CLT(s | φ′, z, ω)
//	(c) (φ, s)′ accepted jointly with min(1, w′/w), w = p(s | φ)/p_CLT(s | φ)
//	(d) (θ, σ²) and (μ_x, T) from their conjugate laws given s
//	(e) ω | s, z
//
// (a) and (b) are reversible with respect to p_CLT(φ, s | z, ω), so (c) is the
// Metropolis–Hastings test for w times that; nothing between them may look at
// s. (d) moves the parameters when (c) rejects: w is unbounded, and (a)–(c)
// alone could stick. A move that flips a sign, or one of n where that is latent,
// takes the place of (a) now and then; a mixture of reversible kernels is reversible.
type exact struct {
	*state
	target     *collapsed
	hmc        *hmc
	flip       *flip
	count      *count // nil where n is public
	correction *correction
	phase      phase

	phi          []float64
	before       *model.Params // parameters, ω² and n before (a)
	omega        []float64
	beforeN      float64
	propS, propR []float64 // s′ and z − s′
	last         Info
}

// phase tells what the chain targets: at first the CLT model alone, steps (a),
// (b), (e), where no statistics are off their support, so that a start far from
// z comes home; then the posterior.
type phase int

const (
	approximate phase = iota
	entering          // the next step enters exactTarget
	exactTarget
)

// flipShare is how often a sign flip takes the place of HMC: the more often, the better
// two modes are weighed, and the slower all else is explored.
const flipShare = 0.25

// newExact starts a chain in the phase that Adapt ends.
func newExact(obs *model.Observation, prior *model.Prior, rng *rand.Rand) *exact {
	c := newState(obs, prior)
	c.start(rng)
	target := newCollapsed(c)
	vec := func() []float64 { return make([]float64, c.q) }
	return &exact{
		state: c, count: newCount(c), target: target, hmc: newHMC(target), flip: newFlip(target),
		correction: newCorrection(obs.Shape.M()),
		phi:        make([]float64, target.Dim()), before: model.NewParams(obs.Shape),
		omega: vec(), propS: vec(), propR: vec(),
	}
}

// Step does one sweep.
func (k *exact) Step(rng *rand.Rand) Info {
	if k.phase == entering {
		k.enter(rng)
	}
	k.before.Copy(k.params)
	copy(k.omega, k.omega2)
	k.beforeN = k.n
	info := k.propose(rng)
	switch {
	case info.Failed, k.phase == exactTarget && !k.correct(&info, rng):
		k.params.Copy(k.before)
		copy(k.omega2, k.omega)
		k.n = k.beforeN
	default:
		copy(k.s, k.propS)
		copy(k.resid, k.propR)
	}
	if k.phase == exactTarget && !k.drawConjugate(rng) {
		info.Failed = true
	}
	k.drawOmega(rng)
	k.last = info
	return info
}

// propose does (a) and (b): the parameters and ω move, s′ waits in propS. It
// fails where rounding leaves a matrix indefinite.
func (k *exact) propose(rng *rand.Rand) Info {
	if !k.target.coords.Unconstrain(k.phi, k.params) {
		return Info{Failed: true}
	}
	var info Info
	switch u := rng.Float64(); {
	case u < flipShare:
		info = Info{transition: k.flip.step(k.phi, rng)}
	case u < flipShare+countShare && k.count != nil:
		info = Info{transition: k.count.step(rng)}
	default:
		info = Info{transition: k.hmc.step(k.phi, rng), Hamiltonian: true}
	}
	k.target.coords.Constrain(k.params, k.phi)
	if info.Failed = !k.factorLatent(); !info.Failed {
		k.drawLatent(k.propS, k.propR, rng)
	}
	return info
}

// correct does (c) and reports whether the proposal is accepted.
func (k *exact) correct(info *Info, rng *rand.Rand) bool {
	proposed := k.correction.logWeight(k.propS, k.moments, k.n)
	k.moments.Set(k.before)
	if !k.moments.Factor() {
		return false
	}
	present := k.correction.logWeight(k.s, k.moments, k.beforeN)
	if k.n != k.beforeN {
		proposed += k.correction.logConstant(k.n)
		present += k.correction.logConstant(k.beforeN)
	}
	info.Correction = math.Min(1, math.Exp(proposed-present))
	return rng.Float64() < info.Correction
}

// enter turns to the exact target. Where s is off its support, it starts from
// its law given the parameters, and ω from its law given s.
func (k *exact) enter(rng *rand.Rand) {
	k.phase = exactTarget
	k.moments.Set(k.params)
	if !k.moments.Factor() || !math.IsInf(k.correction.logWeight(k.s, k.moments, k.n), -1) {
		return
	}
	k.moments.RandExact(k.s, k.n, rng)
	for i, z := range k.obs.Z {
		k.resid[i] = z - k.s[i]
	}
	k.drawOmega(rng)
}
