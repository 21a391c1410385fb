package exact

import (
	"math"
	"math/rand/v2"
)

// interweave moves Ω with every θ_j as it is: where θ_j is well known, the coordinates c
// of pooled follow Ω closely, and NUTS moves both slowly; given θ and all θ_j, Ω does
// not depend on the data at all (Yu & Meng 2011, J. Computational and Graphical
// Statistics 20). Each of Spread's coordinates φ_i in turn gets a Metropolis step on
//
//	log p(φ) + Σ_j log N(θ_j; θ, Ω(φ)),
//
// which leaves the posterior invariant; c is then what it must be for the same θ_j.
type interweave struct {
	density     *joint
	phi, unused []float64
	eta         []float64
}

// The sds of proposals, of which each step takes one, and sweeps over the coordinates.
const (
	longStep, shortStep = 1.0, 0.3
	interwoven          = 3
)

func newInterweave(f *joint) *interweave {
	if f.hub.Spread == nil {
		return nil
	}
	n := f.hub.Spread.Dim()
	return &interweave{density: f, phi: make([]float64, n), unused: make([]float64, n), eta: make([]float64, f.hub.Shape.Q())}
}

// step writes a new point to x; set must have been there.
func (k *interweave) step(x []float64, rng *rand.Rand) {
	f := k.density
	spread := f.hub.Spread
	at := f.at[0] - spread.Dim()
	copy(k.phi, f.x[at:f.at[0]])
	present := k.logDensity()
	for range interwoven {
		for i, old := range k.phi {
			size := longStep
			if rng.IntN(2) == 0 {
				size = shortStep
			}
			k.phi[i] = old + size*rng.NormFloat64()
			if after := k.logDensity(); rng.Float64() < math.Exp(after-present) {
				present = after
			} else {
				k.phi[i] = old
			}
		}
	}
	spread.Constrain(k.phi)
	copy(x[at:], k.phi)
	for j, s := range f.spokes {
		s.pooled.coordinates(x[f.at[j]:])
	}
}

// logDensity is that of phi given θ and all θ_j.
func (k *interweave) logDensity() float64 {
	f, spread := k.density, k.density.hub.Spread
	spread.Constrain(k.phi)
	logp, q := spread.LogPrior(k.unused, k.phi), len(k.eta)
	perSite := 0.0
	for i := range q {
		perSite += math.Log(spread.Tau[i] * spread.Factor[i*q+i])
	}
	for _, s := range f.spokes {
		k.whiten(s.theta)
		for _, e := range k.eta {
			logp -= 0.5 * e * e
		}
		logp -= perSite
	}
	return logp
}

// whiten writes η with θ_j = θ + diag(τ)Cη.
func (k *interweave) whiten(theta []float64) {
	hub, q := k.density.hub, len(k.eta)
	for i := range q {
		v := (theta[i] - hub.Params.Theta[i]) / hub.Spread.Tau[i]
		for l := range i {
			v -= hub.Spread.Factor[i*q+l] * k.eta[l]
		}
		k.eta[i] = v / hub.Spread.Factor[i*q+i]
	}
}
