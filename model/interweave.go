package model

import (
	"math"
	"math/rand/v2"
)

// Interweave moves Ω with every θ_j as it is: where θ_j is well known, the coordinates c
// of Pooled follow Ω closely, and trajectories move both slowly; given θ and all θ_j, Ω
// does not depend on the data at all (Yu & Meng 2011, J. Computational and Graphical
// Statistics 20). Each of Spread's coordinates φ_i in turn gets a Metropolis step on
//
//	log p(φ) + Σ_j log N(θ_j; θ, Ω(φ)),
//
// which leaves the posterior invariant; Coordinates then has c for the same θ_j.
type Interweave struct {
	hub         *Hub
	sites       []*Pooled
	unused, eta []float64
}

// The sds of proposals, of which each step takes one, and sweeps over the coordinates.
const (
	longStep, shortStep = 1.0, 0.3
	interwoven          = 3
)

// NewInterweave is for the hub's Ω and the coefficients of these sites.
func NewInterweave(hub *Hub, sites []*Pooled) *Interweave {
	return &Interweave{hub: hub, sites: sites, unused: make([]float64, hub.Spread.Dim()), eta: make([]float64, hub.Shape.Q())}
}

// Step moves Spread's coordinates phi, at θ of the hub and each θ_j, and leaves the hub's
// Spread at them.
func (k *Interweave) Step(phi []float64, rng *rand.Rand) {
	present := k.logDensity(phi)
	for range interwoven {
		for i, old := range phi {
			size := longStep
			if rng.IntN(2) == 0 {
				size = shortStep
			}
			phi[i] = old + size*rng.NormFloat64()
			if after := k.logDensity(phi); rng.Float64() < math.Exp(after-present) {
				present = after
			} else {
				phi[i] = old
			}
		}
	}
	k.hub.Spread.Constrain(phi)
}

// logDensity is that of phi given θ and all θ_j.
func (k *Interweave) logDensity(phi []float64) float64 {
	spread := k.hub.Spread
	spread.Constrain(phi)
	logp, q := spread.LogPrior(k.unused, phi), len(k.eta)
	perSite := 0.0
	for i := range q {
		perSite += math.Log(spread.Tau[i] * spread.Factor[i*q+i])
	}
	for _, s := range k.sites {
		k.whiten(s.Theta)
		for _, e := range k.eta {
			logp -= 0.5 * e * e
		}
		logp -= perSite
	}
	return logp
}

// whiten writes η with θ_j = θ + diag(τ)Cη.
func (k *Interweave) whiten(theta []float64) {
	hub, q := k.hub, len(k.eta)
	for i := range q {
		v := (theta[i] - hub.Params.Theta[i]) / hub.Spread.Tau[i]
		for l := range i {
			v -= hub.Spread.Factor[i*q+l] * k.eta[l]
		}
		k.eta[i] = v / hub.Spread.Factor[i*q+i]
	}
}
