package exact

import (
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// TestSmallNoiseByLevels: were y's row of D to follow θ on a sheet as thin as the noise, transitions would take 122, 654, 76
// and 1023 leapfrog steps, and of products per level 1023.
func TestSmallNoiseByLevels(t *testing.T) {
	const scale, most = 0.02, 63
	three := model.Shape{P: 3, Intercept: true}
	family := leveledFamilies(model.Binomial, 3, 1, 1, linkPrior(three))
	family.sites[0].scale, family.sites[0].n = scale, 3000
	cells := map[model.Family]*crossedRows{}
	for _, name := range []model.Family{model.Probit, model.Normal} {
		cells[name] = newCrossedRows(name, 1, release.Laplace)
		cells[name].cells.scale = scale
	}
	custodians := leveledSites(3, 1, model.Normal.BoxPrior(three), true)
	for j := range custodians.sites {
		custodians.sites[j].n *= 10
		custodians.sites[j].scale = scale
	}
	perLevel := crossedLevels{3, 1200, 0, release.Laplace, scale}
	for _, c := range []struct {
		name string
		seed uint64
		draw func(*rand.Rand) ([]float64, *model.Joint)
	}{
		{"family", 1, family.draw},
		{"a family's cells", 1, cells[model.Probit].draw},
		{"cells", 1, cells[model.Normal].draw},
		{"custodians", 1, custodians.draw},
		{"per level", 0, func(rng *rand.Rand) ([]float64, *model.Joint) { return perLevel.draw(t, box, rng) }},
		{"per level, the first of few rows", 2, func(rng *rand.Rand) ([]float64, *model.Joint) { return perLevel.draw(t, box, rng) }},
	} {
		_, problem := c.draw(rand.New(rand.NewPCG(67, c.seed)))
		d := sampleJoint(t, problem, mcmc.Plan{Chains: 1, Warmup: 200, Draws: 50, Seed: c.seed})
		if steps := infoSum(d, "n_leapfrog__") / 50; steps > most {
			t.Errorf("%s: %.0f leapfrogs a draw", c.name, steps)
		}
	}
}
