package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// clt is the sweep whose stationary law is the posterior of (φ, n, s, ω) under the
// CLT's law of s, φ the parameters:
//
//	(a) φ′ by a reversible kernel on the collapsed density, s integrated out
//	(b) s′ ~ p_CLT(s | φ′, z, ω)
//	(e) ω | s, z
//
// A move that flips a sign, or one of n where that is latent, takes the place of
// HMC in (a) now and then; a mixture of reversible kernels is reversible.
//
// (a) is on
//
//	log π(φ) = log p(φ) − ½ log|K| − ½ eᵀK⁻¹e,  K = nΣ_t + diag ω², e = z − nμ_t.
//
// No s is off the support of this law, so nothing is projected.
type clt struct {
	*state
	law    *fixed
	hmc    *hmc
	metric *nuts.Metric
	count  *count // nil where n is public

	phi, prop     []float64
	inverse       []float64 // K⁻¹, then W, q×q
	before, after []float64 // nμ_t at a flip
	omega         []float64 // ω² before it
	last          Info
}

// flipShare is how often a sign flip takes the place of HMC: the more often, the better
// two modes are weighed, and the slower all else is explored.
const flipShare = 0.25

func newCLT(obs *model.Observation, prior *model.Prior, law *fixed, rng *rand.Rand) *clt {
	c := newState(obs, prior, law, model.NewRegressionParams(obs.Shape))
	c.start(rng)
	dim, vec := law.Dim(), func(n int) []float64 { return make([]float64, n) }
	k := &clt{state: c, law: law, metric: nuts.NewMetric(dim, dim), count: newCount(c, c.collapsed),
		phi: vec(dim), prop: vec(dim), inverse: vec(c.q * c.q), before: vec(c.q), after: vec(c.q), omega: vec(c.q)}
	k.hmc = newHMC(k, k.metric, maxLeapfrogs, targetAccept)
	return k
}

func (k *clt) Step(rng *rand.Rand) Info {
	k.last = k.sweep(rng)
	k.drawOmega(rng)
	return k.last
}

// sweep does (a) and (b). It fails, and moves nothing, where rounding leaves a matrix
// indefinite.
func (k *clt) sweep(rng *rand.Rand) (info Info) {
	if !k.law.Unconstrain(k.phi, k.params) {
		return Info{Failed: true}
	}
	switch u := rng.Float64(); {
	case u < flipShare:
		info.transition = k.flip(k.phi, rng)
	case u < flipShare+countShare && k.count != nil:
		info.transition = k.count.step(k.phi, rng)
	default:
		info.transition = k.hmc.step(k.phi, rng)
	}
	k.law.Constrain(k.params, k.phi)
	info.Failed = !k.drawLatent(rng)
	return info
}

func (k *clt) Dim() int { return len(k.phi) }

// LogDensity returns log π(φ) and writes its gradient; see state.collapsed. It goes through
// α = K⁻¹e and W = ½(ααᵀ − K⁻¹), the derivatives in nμ_t and nΣ_t, back to φ.
func (k *clt) LogDensity(grad, phi []float64) float64 {
	k.law.Constrain(k.params, phi)
	if !k.factorLatent() {
		return math.Inf(-1)
	}
	logp := k.law.LogPrior(grad, k.params) + k.logLikelihood()
	alpha := k.gain
	dense.SolveLowerT(k.chol, k.q, alpha)

	dense.InverseFromCholesky(k.inverse, k.chol, k.q)
	for i, a := range alpha {
		row := k.inverse[i*k.q : i*k.q+i+1]
		for j := range row {
			row[j] = 0.5 * (a*alpha[j] - row[j])
		}
	}
	k.law.Pullback(grad, k.params, alpha, k.inverse, k.n)
	return logp
}

// flip negates one coefficient or one mean of the covariates. The quadratic
// statistics often tell a size and leave the sign to the noisier linear ones,
// so the posterior may have mirrored modes that small moves do not join.
//
// The negation is an involution of Jacobian 1. The variances ω of the
// statistics whose expectation it changes are drawn anew from
// q(ω² | φ) = GIG(½, 1/b², (z − nμ_t)²), their conditional law were s at its
// expectation, so that Laplace noise may take up the new residual. The move is
// accepted with probability
//
//	min(1, π(φ′, ω′) q(ω | φ) / (π(φ, ω) q(ω′ | φ′))),
//
// π(φ, ω) = p(φ) p(ω) N(z; nμ_t, nΣ_t + diag ω²), and is reversible.
func (k *clt) flip(phi []float64, rng *rand.Rand) (t transition) {
	copy(k.omega, k.omega2)
	copy(k.prop, phi)
	at := rng.IntN(k.obs.Shape.Q() + len(k.params.MuX))
	if at >= k.obs.Shape.Q() {
		at++ // log σ² stands between θ and μ_x
	}
	k.prop[at] = -phi[at]

	t.logDensity = k.expected(k.before, phi)
	gain := -t.logDensity
	k.law.Constrain(k.params, k.prop)
	k.law.Set(k.params)
	k.law.Expect(k.after, k.n)
	for i, b := range k.obs.Scale {
		if k.obs.Kind == release.Gaussian || k.before[i] == k.after[i] {
			continue
		}
		old, rOld, rNew := k.omega[i], k.obs.Z[i]-k.before[i], k.obs.Z[i]-k.after[i]
		w := variate.LaplaceMixture(b, rNew, rng)
		k.omega2[i] = w
		gain += (old-w)/(2*b*b) + variate.LaplaceMixtureLogDensity(old, b, rOld) -
			variate.LaplaceMixtureLogDensity(w, b, rNew)
	}
	end := k.expected(k.after, k.prop)
	if t.test(gain+end, rng) {
		t.logDensity = end
		copy(phi, k.prop)
	} else {
		copy(k.omega2, k.omega)
	}
	return t
}

// expected returns log π(φ | ω) and writes nμ_t.
func (k *clt) expected(mean, phi []float64) float64 {
	v := k.collapsed(phi)
	k.law.Expect(mean, k.n)
	return v
}

// Adapt is called by the driver after each warm-up step.
func (k *clt) Adapt(iteration, warmup int) {
	if iteration == 0 {
		k.hmc.restart(firstStepSize)
	}
	if k.last.leapfrogs > 0 && !k.last.Failed {
		k.hmc.stepSize.Update(k.last.accept)
	}
	done := iteration + 1
	if done > share(firstWindow/2, warmup) && k.law.Unconstrain(k.phi, k.params) {
		k.metric.Add(k.phi)
		if k.count != nil {
			k.count.add(k.phi)
		}
	}
	if windowCloses(done, warmup) {
		if k.metric.Update() {
			k.hmc.restart(whitenedStep)
		}
		if k.count != nil {
			k.count.update()
		}
	}
	if done == warmup {
		k.hmc.stepSize.Settle()
	}
}
