package model

import (
	"math"
	"math/rand/v2"
)

// Interweave moves Spread with every w_j = (θ_j, log σ_j²) as it is: where w_j is well
// known, the coordinates c of Pooled follow the spread closely, and trajectories move both
// slowly; given u and all w_j, the spread does not depend on the data at all (Yu & Meng
// 2011, J. Computational and Graphical Statistics 20). Each of Spread's coordinates φ_i in
// turn gets a Metropolis step on
//
//	log p(φ) + Σ_j log N(w_j; u, BBᵀ(φ)),
//
// which leaves the posterior invariant; Coordinates then has c for the same w_j.
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

// NewInterweave is for the hub's spread and these sites.
func NewInterweave(hub *Hub, sites []*Pooled) *Interweave {
	return &Interweave{hub: hub, sites: sites, unused: make([]float64, hub.Spread.Dim()), eta: make([]float64, hub.Shape.Q()+1)}
}

// Step moves Spread's coordinates phi, at u of the hub and each w_j, and leaves the hub's
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

// logDensity is that of phi given u and all w_j.
func (k *Interweave) logDensity(phi []float64) float64 {
	spread := k.hub.Spread
	spread.Constrain(phi)
	logp, q := spread.LogPrior(k.unused, phi), len(k.eta)
	perSite := 0.0
	for i := range q {
		perSite += math.Log(spread.Tau[i] * spread.Factor[i*q+i])
	}
	for _, s := range k.sites {
		k.whiten(s.Own)
		for _, e := range k.eta {
			logp -= 0.5 * e * e
		}
		logp -= perSite
	}
	return logp
}

// whiten writes η with w = u + diag(τ)Cη.
func (k *Interweave) whiten(own []float64) {
	hub, q := k.hub, len(k.eta)
	for i := range q {
		v := (own[i] - hub.Centre[i]) / hub.Spread.Tau[i]
		for l := range i {
			v -= hub.Spread.Factor[i*q+l] * k.eta[l]
		}
		k.eta[i] = v / hub.Spread.Factor[i*q+i]
	}
}
