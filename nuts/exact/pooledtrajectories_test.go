package exact

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// littleNoise are custodians alike, pooled in part, whose sums noise hardly moves: sd and number of rows.
func littleNoise(s model.Shape, sites int, n float64, kind release.Kind, scale float64, shared bool) *modeltest.Custodians {
	c := &modeltest.Custodians{Shape: s, Partial: true, Shared: shared}
	for range sites {
		c.Sites = append(c.Sites, modeltest.Custodian{N: n, Kind: kind, Scale: scale, Units: 1})
	}
	return c
}

// TestPooledTrajectoriesAreShort: were sums of y to follow θ_j on a sheet as thin as the noise, or θ_j a guess that does not
// follow x, transitions would take 1023, 956 and 258 leapfrog steps.
func TestPooledTrajectoriesAreShort(t *testing.T) {
	for _, c := range []struct {
		sites *modeltest.Custodians
		seed  uint64
	}{
		{littleNoise(model.Shape{P: 2, Intercept: true}, 5, 1000, release.Laplace, 0.5, false), 0},
		{littleNoise(model.Shape{P: 1, Intercept: true}, 3, 1000, release.Gaussian, 0.05, true), 0},
		{littleNoise(model.Shape{P: 4, Intercept: true}, 3, 3000, release.Gaussian, 1, false), 2},
	} {
		problem := draw(c.sites, rand.New(rand.NewPCG(49, c.seed)))
		d := sampleJoint(t, problem, mcmc.Plan{Chains: 1, Warmup: 200, Draws: 100, Seed: c.seed})
		if steps := infoSum(d, "n_leapfrog__") / 100; steps >= 63 {
			t.Errorf("%v of %d custodians: %.0f leapfrogs a draw", c.sites.Shape, len(c.sites.Sites), steps)
		}
	}
}

// TestPooledFamilyTrajectoriesAreShort: were sums of y coordinates of the index alone, transitions would take 1023.
func TestPooledFamilyTrajectoriesAreShort(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c := linkedCustodians(model.Binomial, 2, shared, false)
		c.partial = true
		for j := range c.rows {
			c.rows[j] *= 4
			c.scales[j] *= 0.01
		}
		problem, _ := c.draw(linkPrior(c.shape), rand.New(rand.NewPCG(68, 0)))
		d := sampleJoint(t, problem, mcmc.Plan{Chains: 1, Warmup: 200, Draws: 50})
		if steps := infoSum(d, "n_leapfrog__") / 50; steps > 63 {
			t.Errorf("covariates shared: %t: %.0f leapfrogs a draw", shared, steps)
		}
	}
}

// TestJointGradientIsOfThePoint: asked for twice at one point, slopes are the same, those of the noise alone, as standardise
// asks for them, too.
func TestJointGradientIsOfThePoint(t *testing.T) {
	for _, v := range variants {
		rng := rand.New(rand.NewPCG(50, 1))
		problem := draw(littleNoise(model.Shape{P: 2, Intercept: true}, 3, 100, release.Gaussian, 2, v.shared), rng)
		problem.Partial = v.partial
		f := newJoint(problem)
		y := make([]float64, f.Dim())
		if !f.start(problem, y, rng) {
			t.Fatal("no start")
		}
		first, second := make([]float64, len(y)), make([]float64, len(y))
		f.set(y)
		from, to := f.at[0], f.at[1]
		for _, grad := range [][]float64{first, second} {
			if !f.slope(grad[:from], grad[from:to], f.x, 0, &f.spokes[0].noised()[0]) {
				t.Fatal("no slope")
			}
		}
		if !slices.Equal(first, second) {
			t.Errorf("%s: slopes at one point are %v and %v", v, first, second)
		}
		must.Get(f.LogDensity(first, y))(t)
		must.Get(f.LogDensity(second, y))(t)
		if !slices.Equal(first, second) {
			t.Errorf("%s: gradients at one point are %v and %v", v, first, second)
		}
	}
}
