package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
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
// No s is off the support of this law, so nothing is projected.
type clt struct {
	*proposal
	target *sloped
	hmc    *hmc
	metric *nuts.Metric
	flip   *flip
	count  *count // nil where n is public

	phi  []float64
	last Info
}

// flipShare is how often a sign flip takes the place of HMC: the more often, the better
// two modes are weighed, and the slower all else is explored.
const flipShare = 0.25

// newCLT starts a chain.
func newCLT(obs *model.Observation, prior *model.Prior, law *fixed, rng *rand.Rand) *clt {
	c := newState(obs, prior, law)
	c.start(rng)
	target := &sloped{newCollapsed(c), law, make([]float64, c.q*c.q)}
	metric := nuts.NewMetric(target.Dim(), target.Dim())
	return &clt{
		metric:   metric,
		proposal: newProposal(c), count: newCount(c, target.value), target: target, hmc: newHMC(target, metric), flip: newFlip(target.collapsed),
		phi: make([]float64, target.Dim()),
	}
}

// Step does one sweep.
func (k *clt) Step(rng *rand.Rand) Info {
	info := k.propose(rng)
	k.conclude(!info.Failed)
	k.drawOmega(rng)
	k.last = info
	return info
}

// propose does (a) and (b): the parameters and ω move, s′ waits in propS until
// conclude. It fails where rounding leaves a matrix indefinite.
func (k *clt) propose(rng *rand.Rand) Info {
	k.save()
	if !k.law.Unconstrain(k.phi, k.params) {
		return Info{Failed: true}
	}
	var info Info
	switch u := rng.Float64(); {
	case u < flipShare:
		info = Info{transition: k.flip.step(k.phi, rng)}
	case u < flipShare+countShare && k.count != nil:
		info = Info{transition: k.count.step(k.phi, rng)}
	default:
		info = Info{transition: k.hmc.step(k.phi, rng), Hamiltonian: true}
	}
	k.law.Constrain(k.params, k.phi)
	if info.Failed = !k.factorLatent(); !info.Failed {
		k.drawLatent(k.propS, k.propR, rng)
	}
	return info
}

// collapsed is the density of the unconstrained parameters φ with the latent
// statistics integrated out of the CLT model, given ω:
//
//	log π(φ) = log p(φ) − ½ log|K| − ½ eᵀK⁻¹e,  K = nΣ_t + diag ω², e = z − nμ_t.
type collapsed struct {
	*state
	unused []float64 // a gradient that value does not want
}

func newCollapsed(c *state) *collapsed {
	return &collapsed{state: c, unused: make([]float64, c.law.Dim())}
}

// value returns log π(φ). It leaves the state's parameters at φ and its factors as
// factorLatent does. Where rounding leaves a matrix indefinite it returns −∞.
func (t *collapsed) value(phi []float64) float64 {
	t.law.Constrain(t.params, phi)
	if !t.factorLatent() {
		return math.Inf(-1)
	}
	return t.law.LogPrior(t.unused, t.params) + t.logLikelihood()
}

// sloped is collapsed with a gradient, for moments of x that are fixed. It goes through
// α = K⁻¹e and W = ½(ααᵀ − K⁻¹), the derivatives in nμ_t and nΣ_t, back to φ.
type sloped struct {
	*collapsed
	law     *fixed
	inverse []float64 // K⁻¹, then W, q×q
}

// Dim returns the number of unconstrained parameters.
func (t *sloped) Dim() int { return t.law.Dim() }

// LogDensity returns log π(φ) and writes its gradient; see value.
func (t *sloped) LogDensity(grad, phi []float64) float64 {
	t.law.Constrain(t.params, phi)
	if !t.factorLatent() {
		return math.Inf(-1)
	}
	logp := t.law.LogPrior(grad, t.params) + t.logLikelihood()
	alpha := t.gain
	dense.SolveLowerT(t.chol, t.q, alpha)

	dense.InverseFromCholesky(t.inverse, t.chol, t.q)
	for i, a := range alpha {
		row := t.inverse[i*t.q : i*t.q+i+1]
		for j := range row {
			row[j] = 0.5 * (a*alpha[j] - row[j])
		}
	}
	t.law.Pullback(grad, t.params, alpha, t.inverse, t.n)
	return logp
}

// proposal is a state and what a step proposes for it: parameters, ω² and n move at
// once, s′ waits until conclude.
type proposal struct {
	*state
	before       *model.Params // parameters, ω² and n before the step
	omega        []float64
	beforeN      float64
	propS, propR []float64 // s′ and z − s′
}

func newProposal(c *state) *proposal {
	vec := func() []float64 { return make([]float64, c.q) }
	return &proposal{state: c, before: c.law.params(), omega: vec(), propS: vec(), propR: vec()}
}

// save keeps what conclude may have to bring back.
func (k *proposal) save() {
	k.before.Copy(k.params)
	copy(k.omega, k.omega2)
	k.beforeN = k.n
}

// conclude takes s′, or takes back all that moved since save.
func (k *proposal) conclude(accepted bool) {
	if accepted {
		copy(k.s, k.propS)
		copy(k.resid, k.propR)
		return
	}
	k.params.Copy(k.before)
	copy(k.omega2, k.omega)
	k.n = k.beforeN
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
type flip struct {
	*collapsed
	prop          []float64
	before, after []float64 // nμ_t
	omega         []float64 // ω² before the move
}

func newFlip(c *collapsed) *flip {
	vec := func() []float64 { return make([]float64, c.q) }
	return &flip{collapsed: c, prop: make([]float64, c.law.Dim()),
		before: vec(), after: vec(), omega: vec()}
}

// step moves phi and omega2.
func (f *flip) step(phi []float64, rng *rand.Rand) transition {
	q := f.obs.Shape.Q()
	k := rng.IntN(q + len(f.params.MuX))
	if k >= q {
		k++ // log σ² stands between θ and μ_x
	}
	start, end, gain := f.try(phi, k, rng)
	t := transition{logDensity: start}
	if t.accept = math.Min(1, math.Exp(gain)); !(t.accept >= 0) {
		t.accept = 0
	}
	if t.accepted = rng.Float64() < t.accept; t.accepted {
		t.logDensity = end
		copy(phi, f.prop)
	} else {
		f.undo()
	}
	return t
}

// try puts the negation of coordinate k into prop and draws ω anew. It returns
// log π before and after, and the logarithm of the ratio above.
func (f *flip) try(phi []float64, k int, rng *rand.Rand) (start, end, gain float64) {
	copy(f.omega, f.omega2)
	copy(f.prop, phi)
	f.prop[k] = -phi[k]

	gain = -f.at(f.before, phi)
	start = -gain
	f.law.Constrain(f.params, f.prop)
	f.law.Set(f.params)
	f.law.Expect(f.after, f.n)
	for i, b := range f.noise.scale {
		if !f.noise.latent() || f.before[i] == f.after[i] {
			continue
		}
		old, rOld, rNew := f.omega[i], f.obs.Z[i]-f.before[i], f.obs.Z[i]-f.after[i]
		w := variate.LaplaceMixture(b, rNew, rng)
		f.omega2[i] = w
		gain += (old-w)/(2*b*b) + variate.LaplaceMixtureLogDensity(old, b, rOld) -
			variate.LaplaceMixtureLogDensity(w, b, rNew)
	}
	end = f.at(f.after, f.prop)
	return start, end, gain + end
}

// undo takes ω back.
func (f *flip) undo() { copy(f.omega2, f.omega) }

// at returns log π(φ | ω) and writes nμ_t.
func (f *flip) at(mean, phi []float64) float64 {
	v := f.value(phi)
	f.law.Expect(mean, f.n)
	return v
}
