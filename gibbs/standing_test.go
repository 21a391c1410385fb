package gibbs

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/model"
)

// standing is where a chain stands at one release; all else that a state holds is scratch.
type standing struct {
	params           model.Params
	n                float64
	s, resid, omega2 []float64
}

func (c *state) standing() standing {
	p := c.params
	return standing{model.Params{Theta: slices.Clone(p.Theta), Sigma2: p.Sigma2, MuX: slices.Clone(p.MuX), Tau: slices.Clone(p.Tau)},
		c.n, slices.Clone(c.s), slices.Clone(c.resid), slices.Clone(c.omega2)}
}

func (c *state) stand(at standing) {
	c.params.Copy(&at.params)
	c.n = at.n
	copy(c.s, at.s)
	copy(c.resid, at.resid)
	copy(c.omega2, at.omega2)
}

// rows is the law of a row in the release's units, afresh from the parameters.
func (c *state) rows(t *testing.T) *model.Moments {
	t.Helper()
	law := model.NewMoments(c.obs.Shape)
	law.Set(c.params)
	if c.units != nil {
		c.units.Moments(law.Mean, law.Cov)
	}
	if !law.Factor() {
		t.Fatal("the covariance of a row has no factor")
	}
	return law
}

// warm is a chain whose metrics, slopes and steps are those of warm-up.
func (g *jointSites) warm(rng *rand.Rand) *exactSites {
	const warmup = 400
	_, problem := g.Draw(rng)
	k := newExactSites(problem, rng)
	for i := range warmup {
		k.another(rng)
		k.Adapt(i, warmup)
	}
	return k
}

// another sweeps, given other z, so that many problems are met.
func (k *exactSites) another(rng *rand.Rand) {
	for _, s := range k.all {
		observeAnew(s.state, rng)
	}
	k.Step(rng)
}
