package model

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/variate"
)

// Interweave moves Spread and its centre u = (θ, log σ²) with every w_j = (θ_j, log σ_j²) as it is: where w_j is
// well known, the coordinates c of Pooled follow both closely, and trajectories move them slowly; given all w_j they
// do not depend on the data at all (Yu & Meng 2011, J. Computational and Graphical Statistics 20). Each of Spread's
// coordinates φ_i in turn gets a Metropolis step on
//
//	log p(φ) + Σ_j log N(w_j; u, BBᵀ(φ)),
//
// and u one from the proposal N(w̄, BBᵀ/J), its law under a flat prior, which is taken with probability
// min(1, p(u′)/p(u)). Both leave the posterior invariant; Coordinates then has c for the same w_j.
type Interweave struct {
	hub              *Hub
	sites            []*Pooled
	unused, eta      []float64
	present, offered []float64 // u, and what is proposed
}

// The sds of proposals, of which each step takes one, and sweeps over the coordinates.
const (
	longStep, shortStep = 1.0, 0.3
	interwoven          = 3
)

// NewInterweave is for the hub's spread and these sites.
func NewInterweave(hub *Hub, sites []*Pooled) *Interweave {
	k := len(hub.Centre)
	return &Interweave{hub: hub, sites: sites, unused: make([]float64, max(hub.Spread.Dim(), hub.Shape.Q()+1)), eta: make([]float64, k),
		present: make([]float64, k), offered: make([]float64, k)}
}

// Step moves the hub's coordinates phi, at each w_j: u in the first and Spread's in the last, and leaves the hub at them.
func (k *Interweave) Step(phi []float64, rng *rand.Rand) {
	spread := phi[len(phi)-k.hub.Spread.Dim():]
	for range interwoven {
		k.moveSpread(spread, rng)
		k.moveCentre(rng)
	}
	copy(phi, k.hub.Centre)
}

func (k *Interweave) moveSpread(phi []float64, rng *rand.Rand) {
	present := k.logDensity(phi)
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
	k.hub.Spread.Constrain(phi)
}

func (k *Interweave) moveCentre(rng *rand.Rand) {
	copy(k.present, k.hub.Centre)
	before := k.hub.takeCentre(k.present, k.unused)
	share := 1 / float64(len(k.sites))
	clear(k.offered)
	for _, s := range k.sites {
		floats.AddScaled(k.offered, share, s.Own)
	}
	variate.Normals(k.eta, math.Sqrt(share), rng)
	spread, q := k.hub.Spread, len(k.eta)
	for i := range q {
		k.offered[i] += spread.Tau[i] * floats.Dot(spread.Factor[i*q:i*q+i+1], k.eta[:i+1])
	}
	if after := k.hub.takeCentre(k.offered, k.unused); !(rng.Float64() < math.Exp(after-before)) {
		k.hub.takeCentre(k.present, k.unused)
	}
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
