package gibbs

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// plainSites is the published sweep for several releases: plain's steps for each, with
// (θ, σ²) given all s.
type plainSites struct{ *sites }

func newPlainSites(p *model.Joint, rng *rand.Rand) *plainSites {
	k := &plainSites{newSites(p, rng)}
	for _, s := range k.all {
		s.count = newCount(s.state, newCollapsed(s.state).value)
	}
	return k
}

// Step does one sweep.
func (k *plainSites) Step(rng *rand.Rand) Info {
	var info Info
	for _, s := range k.all {
		if info.Failed = !s.renew(s.count, s.phi, rng); info.Failed {
			return info
		}
		info.Projected = s.project() || info.Projected
	}
	info.Failed = !k.drawConjugate(rng)
	for _, s := range k.all {
		s.drawOmega(rng)
	}
	return info
}
