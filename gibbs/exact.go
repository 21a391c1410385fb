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
// alone could stick.
type exact struct {
	*clt
	moments    *model.Moments // the law, whose covariance V (c) needs
	correction *correction
	phase      phase
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

// newExact starts a chain in the phase that Adapt ends.
func newExact(obs *model.Observation, prior *model.Prior, rng *rand.Rand) *exact {
	law := newHierarchical(obs.Shape, prior)
	return &exact{clt: newCLT(obs, prior, law, rng), moments: law.Moments, correction: newCorrection(obs.Shape.M())}
}

// Step does one sweep.
func (k *exact) Step(rng *rand.Rand) Info {
	switch k.phase {
	case approximate:
		return k.clt.Step(rng)
	case entering:
		k.phase = exactTarget
		k.enter(k.correction, k.moments, rng)
	}
	info := k.propose(rng)
	k.conclude(!info.Failed && k.correct(&info, rng))
	if !k.drawConjugate(rng) {
		info.Failed = true
	}
	k.drawOmega(rng)
	k.last = info
	return info
}

// Adapt is called by the driver after each warm-up step.
func (k *exact) Adapt(iteration, warmup int) {
	k.clt.Adapt(iteration, warmup)
	if iteration+1 == share(approximateEnds, warmup) {
		k.phase = entering
	}
}

// correct does (c) and reports whether the proposal is accepted.
func (k *exact) correct(info *Info, rng *rand.Rand) bool {
	ratio, ok := k.logRatio(k.correction, k.moments)
	if !ok {
		return false
	}
	info.Correction = math.Min(1, math.Exp(ratio))
	return rng.Float64() < info.Correction
}
