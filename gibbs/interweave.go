package gibbs

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/model"
)

// interweave moves the parameters with all (f, A) held: those of each site's own, then the
// shared ones, and where pooling is partial θ, σ and their spread. It fails where some
// statistics lie at the border of what data can have, or the spread at that of numbers.
func (k *exactSites) interweave(rng *rand.Rand) (t transition, ok bool) {
	for _, s := range k.all {
		if !s.ancillary.hold(s.phi) || s.rough != nil && !s.rough.at(k.hierarchy) {
			return t, false
		}
	}
	for _, s := range k.all {
		if s.own != nil {
			s.moveOwn(rng)
		}
	}
	moved := false
	if k.shared != nil {
		k.moveShared(rng)
		t, moved = k.shared.last, k.shared.last.accepted
	}
	if k.spread != nil {
		k.spread.hold()
		if k.spreadMover.step(k.spread.now, rng).accepted {
			k.spread.settle()
		}
		moved = moved || k.spreadMover.last.accepted
		if k.shared == nil {
			t = k.spreadMover.last
		}
	}
	for _, s := range k.all {
		if moved || s.own != nil && s.own.last.accepted {
			s.ancillary.move(s.phi)
			s.ancillary.settle()
		} else {
			s.law.Constrain(s.params, s.phi)
		}
	}
	if k.hierarchy != nil {
		k.takeScales()
	}
	return t, true
}

func (s *site) moveOwn(rng *rand.Rand) {
	copy(s.ancillary.phi, s.phi)
	x := s.phi[s.lead:]
	if s.rough == nil {
		s.own.step(x, rng)
		return
	}
	if s.own.choose(rng); !s.own.moved {
		s.own.last = s.own.flip(x, rng)
		return
	}
	s.rough.toC(x[:s.rough.q])
	s.own.last = s.own.hmc.step(x, rng)
	copy(s.ownAt, x)
	s.rough.toOwn(x[:s.rough.q])
}

func (k *exactSites) moveShared(rng *rand.Rand) {
	copy(k.phi, k.all[0].phi)
	if !k.shared.step(k.phi, rng).accepted {
		return
	}
	for _, s := range k.all {
		s.follow(s.ancillary.phi, k.phi, !k.shared.moved)
		copy(s.phi, s.ancillary.phi)
	}
}

// ownTarget is the density of one site's own parameters with (f, A) and the shared ones
// held, in c in place of w_j where rough is not nil.
type ownTarget struct {
	site  *site
	rough *rough
}

func (t ownTarget) Dim() int { return len(t.site.phi) - t.site.lead }

// LogDensity returns the log density, and the slope that is followed.
func (t ownTarget) LogDensity(grad, x []float64) float64 {
	a, own := t.site.ancillary, t.site.ancillary.phi[t.site.lead:]
	copy(own, x)
	if t.rough != nil {
		t.rough.toOwn(own[:t.rough.q])
	}
	logp := a.density(a.phi, t.site.alone)
	if t.site.record {
		k := t.site.rough.q
		t.site.rough.add(own[:k], a.grad[t.site.lead:t.site.lead+k])
		t.site.record = false
	}
	copy(grad, a.grad[t.site.lead:])
	if t.rough != nil {
		t.rough.pull(grad[:t.rough.q])
	}
	return logp
}

// sharedTarget is the density of the shared parameters h with all (f, A) held, and with
// each site's own parameters x going along: x′ = x + slope·(h′ − h), a shear of Jacobian
// 1 for each h′, or rigid, left where they are. Where x is bound to h, h alone could
// hardly move.
type sharedTarget struct {
	*sites
	hub     *model.Hub // h, behind (θ, log σ²) where pooling is partial and these held
	x, grad []float64  // of hub
	rigid   bool
	record  bool // whether the regressions take a gradient from the next
}

// sharedHub are the coordinates of a problem's shared parameters other than the spread.
func sharedHub(p *model.Joint) *model.Hub {
	return model.NewHub(&model.Joint{Shape: p.Shape, Prior: p.Prior, Shared: p.Shared})
}

// signs lists the coordinates to negate.
func (t *sharedTarget) signs() (at []int) {
	held := t.hub.Dim() - t.Dim()
	for _, k := range t.hub.Signs() {
		if k >= held {
			at = append(at, k-held)
		}
	}
	return at
}

func (t *sharedTarget) Dim() int { return t.lead }

// leaving is the density with x left where it is.
func (t sharedTarget) leaving() *sharedTarget {
	t.rigid = true
	return &t
}

// LogDensity returns the log density, and the slope that is followed.
func (t *sharedTarget) LogDensity(grad, h []float64) float64 {
	others, held := 1-float64(len(t.all)), 0 // the prior of h is in each site's density
	if t.problem.Partial {
		others, held = 1, copy(t.x, t.hierarchy.Centre)
	}
	copy(t.x[held:], h)
	t.hub.Params.LogW = t.all[0].params.LogW
	t.hub.Constrain(t.x)
	logp := others * t.hub.LogPrior(t.grad, t.x)
	floats.ScaleTo(grad, others, t.grad[held:])
	for _, s := range t.all {
		a := s.ancillary
		s.follow(a.phi, h, t.rigid)
		logp += a.density(a.phi, s.among)
		floats.Add(grad, a.grad[:len(h)])
		if s.own == nil || t.rigid {
			continue
		}
		for k := range h {
			for i, slope := range s.regression.of(k) {
				grad[k] += slope * a.grad[len(h)+i]
			}
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
	for k, v := range h {
		floats.AddScaled(x, v-s.phi[k], s.regression.of(k))
	}
}
