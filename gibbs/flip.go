package gibbs

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/variate"
)

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
