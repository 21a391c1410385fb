package gibbs

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// interweave moves the parameters with all (f, A) held: those of each site's own, then the
// shared ones. It fails where some statistics lie at the border of what data can have.
func (k *exactSites) interweave(rng *rand.Rand) (t transition, ok bool) {
	for _, s := range k.all {
		if !s.ancillary.hold(s.phi) {
			return t, false
		}
	}
	for _, s := range k.all {
		if s.own != nil {
			copy(s.ancillary.phi, s.phi)
			s.own.step(s.phi[k.hub:], rng)
		}
	}
	copy(k.phi, k.all[0].phi)
	t = k.shared.step(k.phi, rng)
	for _, s := range k.all {
		if t.accepted {
			s.follow(s.ancillary.phi, k.phi, k.target.rigid)
			copy(s.phi, s.ancillary.phi)
		}
		if t.accepted || s.own != nil && s.own.last.accepted {
			s.ancillary.settle(s.phi)
		} else {
			s.law.Constrain(s.params, s.phi)
		}
	}
	return t, true
}

// ownTarget is the density of one site's own parameters with (f, A) and the shared ones
// held.
type ownTarget struct {
	site *site
	hub  int
}

// Dim returns the number of coordinates.
func (t ownTarget) Dim() int { return len(t.site.phi) - t.hub }

// LogDensity returns the log density, and the slope that is followed.
func (t ownTarget) LogDensity(grad, x []float64) float64 {
	a := t.site.ancillary
	copy(a.phi[t.hub:], x)
	logp := a.density(a.phi, t.site.alone)
	copy(grad, a.grad[t.hub:])
	return logp
}

// sharedTarget is the density of the shared parameters h with all (f, A) held, and with
// each site's own parameters x going along: x′ = x + slope·(h′ − h), a shear of Jacobian
// 1 for each h′, or rigid, left where they are. Where x is bound to h, h alone could
// hardly move.
type sharedTarget struct {
	*sites
	prior interface { // of h
		Constrain(x *model.Params, phi []float64)
		LogPrior(grad []float64, x *model.Params) float64
	}
	params *model.Params
	rigid  bool // at the last point
	record bool // whether the regressions take a gradient from the next
}

func newSharedTarget(c *sites) *sharedTarget {
	if p := c.problem; p.Shared {
		return &sharedTarget{sites: c, prior: model.NewCoordinates(p.Shape, p.Prior), params: model.NewParams(p.Shape)}
	}
	return &sharedTarget{sites: c, prior: model.NewRegressionCoordinates(c.problem.Prior), params: model.NewRegressionParams(c.problem.Shape)}
}

// Dim returns the number of coordinates.
func (t *sharedTarget) Dim() int { return t.hub }

// LogDensity returns the log density, and the slope that is followed.
func (t *sharedTarget) LogDensity(grad, h []float64) float64 {
	t.rigid = false
	return t.at(grad, h)
}

// rigid is the density with x left where it is.
type rigid struct{ *sharedTarget }

// LogDensity is that of sharedTarget.
func (t rigid) LogDensity(grad, h []float64) float64 {
	t.sharedTarget.rigid = true
	return t.at(grad, h)
}

func (t *sharedTarget) at(grad, h []float64) float64 {
	t.prior.Constrain(t.params, h)
	others := 1 - float64(len(t.all)) // the prior of h is in each site's density
	logp := others * t.prior.LogPrior(grad, t.params)
	for i := range grad {
		grad[i] *= others
	}
	for _, s := range t.all {
		a := s.ancillary
		s.follow(a.phi, h, t.rigid)
		logp += a.density(a.phi, s.among)
		axpy(grad, 1, a.grad[:t.hub])
		if s.own == nil || t.rigid {
			continue
		}
		for i, g := range a.grad[t.hub:] {
			axpy(grad, g, s.regression.row(i))
		}
		if t.record {
			s.regression.add(a.grad)
		}
	}
	t.record = false
	return logp
}

// follow writes φ of the site at h′.
func (s *site) follow(phi, h []float64, rigid bool) {
	x := phi[copy(phi, h):]
	copy(x, s.phi[len(h):])
	if rigid {
		return
	}
	for i := range x {
		for k, slope := range s.regression.row(i) {
			x[i] += slope * (h[k] - s.phi[k])
		}
	}
}
