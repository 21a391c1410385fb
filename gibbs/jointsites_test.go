package gibbs

import (
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// jointSites is joint for several custodians, with few rows, where the exact law of the
// statistics is far from the CLT's.
type jointSites struct{ modeltest.Custodians }

// newJointSites has a conjugate prior, or where covariates are shared TamePrior.
func newJointSites(t *testing.T, shared, counts bool) *jointSites {
	prior := newJoint(t, 1, 0, 0).prior
	if shared {
		prior = modeltest.TamePrior(model.Shape{P: 1, Intercept: true})
	}
	return &jointSites{modeltest.Custodians{
		Shape: model.Shape{P: 1, Intercept: true}, Prior: prior, Shared: shared, Counts: counts,
		Sites: []modeltest.Custodian{{N: 6, Kind: release.Laplace, Scale: 2, Units: 1}, {N: 12, Kind: release.Gaussian, Scale: 2, Units: 0.8}, {N: 5, Kind: release.Ball, Scale: 0.7, Units: 0.9, Tilted: true}},
	}}
}

// forward draws everything from the prior on.
func (g *jointSites) forward(k *exactSites, rng *rand.Rand) {
	first := k.all[0].params
	for j, s := range k.all {
		switch {
		case j > 0 && g.Shared:
			s.params.Copy(first)
		default:
			s.conditionals.DrawPrior(s.params, rng)
			copy(s.params.Theta, first.Theta)
			s.params.Sigma2 = first.Sigma2
		}
		drawRows(s.state, rng)
		drawOmegaPrior(s.state, rng)
		s.law.Set(s.params)
		s.law.Factor()
		s.moments.RandExact(s.s, s.n, rng)
		observeAnew(s.state, rng)
	}
}
