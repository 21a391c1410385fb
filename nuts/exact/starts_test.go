package exact

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// TestExtremes: chains start and mix at the edges of what can be published.
func TestExtremes(t *testing.T) {
	for i, c := range []struct {
		p        int
		n, scale float64
	}{
		{1, 5, 5}, {3, 8, 10}, // few rows
		{2, 1e6, 10}, {1, 1e9, 1e-3}, {2, 1e9, 10}, {3, 1e9, 1e6}, // many
		{2, 100, 1e-6}, {2, 100, 1e6}, {2, 100, 1e12}, // little noise, and much
	} {
		for k, kind := range []release.Kind{release.Laplace, release.Gaussian} {
			if testing.Short() && (i+k)%3 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("p=%d n=%g %s %g", c.p, c.n, kind, c.scale), func(t *testing.T) {
				t.Parallel()
				s := simulated(c.p, c.n, 1)
				s.Kind, s.Scale = kind, c.scale
				_, obs := s.Draw(rand.New(rand.NewPCG(uint64(c.p), 3)))
				// Where noise hides all, chains visit the heavy tails of the prior: 300 draws
				// would do but for one seed in 16.
				prior := model.DefaultPrior(s.Shape)
				if c.scale >= 1e6 { // then the prior is all there is, and has heavy tails
					prior = s.Prior
				}
				plan := mcmc.Plan{Chains: 4, Warmup: 300, Draws: testsize.Of(400, 1000), Seed: 1}
				d := must.Get(Method{}.Sample(context.Background(), modeltest.Problem(obs, prior), plan))(t)
				if name, r := worstRHat(d); !(r < 1.05) {
					t.Errorf("%s has R-hat %.3f", name, r)
				}
				if n := infoSum(d, "divergent__"); n > 0.01*float64(d.NumChains()*d.NumDraws()) {
					t.Errorf("%g transitions diverged", n)
				}
			})
		}
	}
}

// TestStartsAnywhere: chains start, and keep finite draws, from the least rows that
// have a density and from statistics that no rows have and noise of this scale
// cannot explain. Whether they mix there is for R-hat to say.
func TestStartsAnywhere(t *testing.T) {
	for _, kind := range []release.Kind{release.Laplace, release.Gaussian} {
		for _, p := range []int{1, 3, 10}[:testsize.Of(2, 3)] {
			s := simulated(p, float64(p+2), 1)
			s.Kind = kind
			rng := rand.New(rand.NewPCG(uint64(p), 4))
			for _, far := range []float64{0, 100, 1e6} {
				_, obs := s.Draw(rng)
				for i := range obs.Z {
					obs.Z[i] += far * s.Scale * rng.NormFloat64()
				}
				finite(t, obs, model.DefaultPrior(s.Shape), rng)
			}
		}
	}
}

// finite takes a few steps of some chains.
func finite(t *testing.T, obs *model.Observation, prior *model.Prior, rng *rand.Rand) {
	t.Helper()
	draw := make([]float64, len(obs.Names()))
	for range testsize.Of(5, 20) {
		k := must.Get(newKernel(newDensity(alone(obs), prior), rng))(t)
		for range 3 {
			k.Step(rng)
			k.Params(draw)
			for j, v := range draw {
				if math.IsNaN(v) || math.IsInf(v, 0) || k.Err() != nil {
					t.Fatalf("p = %d, %s: %s is %g; %v", obs.Shape.P, obs.Kind, obs.Names()[j], v, k.Err())
				}
			}
		}
	}
}

func worstRHat(d *posterior.Draws) (name string, worst float64) {
	for j := range d.Names {
		if r := posterior.Of(d.Column(j)).RHat(); !(r <= worst) {
			name, worst = d.Names[j], r
		}
	}
	return name, worst
}

// gaussianGoldens are the reference problems with Gaussian noise.
func gaussianGoldens(t *testing.T) map[string]*model.Problem {
	problems := map[string]*model.Problem{}
	for _, g := range modeltest.Goldens(t) {
		if g.Problem.Releases[0].Noise.Kind == release.Gaussian {
			problems[g.Name] = g.Problem
		}
	}
	return problems
}

// beyondRows are releases whose sums of squares lie k standard deviations below any that
// rows have.
func beyondRows() map[string]*model.Problem {
	problems := map[string]*model.Problem{}
	for _, k := range []float64{3, 20} {
		s := simulated(2, 100, 1)
		s.Kind, s.Scale = release.Gaussian, 10
		_, obs := s.Draw(rand.New(rand.NewPCG(1, 3)))
		for _, square := range []int{3, 6, 8} {
			obs.Z[square] = -k * s.Scale
		}
		problems[fmt.Sprintf("%g sd beyond", k)] = modeltest.Problem(obs, model.DefaultPrior(s.Shape))
	}
	return problems
}

// TestNoChainFreezes: of many chains on the goldens with Gaussian noise, whose
// density falls faster than the slope that is followed, none stays where it started;
// nor where no rows have such sums of squares.
func TestNoChainFreezes(t *testing.T) {
	problems := gaussianGoldens(t)
	maps.Copy(problems, beyondRows())
	for name, p := range problems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := mcmc.Plan{Chains: testsize.Of(4, 40), Warmup: 400, Draws: 200, Seed: 3}
			d := must.Get(Method{}.Sample(context.Background(), p, plan))(t)
			if name, r := worstRHat(d); !(r < 1.1) {
				t.Errorf("%s has R-hat %.3f over %d chains", name, r, plan.Chains)
			}
			if steps := infoSum(d, "n_leapfrog__") / float64(200*plan.Chains); steps > 31 {
				t.Errorf("%.0f leapfrogs a draw", steps)
			}
		})
	}
}

// TestStartsOutOfTheBox: rows of a simulation may lie far out of the box. Starts are as near z as noise
// allows all the same, and chains of several releases start there: from afar an ascent ended where columns
// are nearly collinear, and rounding left no density.
func TestStartsOutOfTheBox(t *testing.T) {
	c := &modeltest.Custodians{Shape: model.Shape{P: 3, Intercept: true}, Sites: modeltest.Unequal(3)}
	for trial := range testsize.Of(20, 300) {
		rng := rand.New(rand.NewPCG(uint64(trial), 12))
		_, problem := c.Draw(rng)
		if _, err := newJointKernel(problem, rng); err != nil {
			t.Errorf("data set %d: %v", trial, err)
		}
		for j, s := range problem.Sites {
			m := s.Shape.M()
			own := newStatistics(m)
			own.disperse(s.Observation, s.N, rng)
			for i := range m {
				at := release.Index(m, i, i)
				if away := (own.s[at] - s.Z[at]) / math.Sqrt(s.Variance(at)); away < -10 {
					t.Errorf("data set %d, site %d: the sum of squares of column %d lies %.0f sds below the noisy one", trial, j, i, -away)
				}
			}
		}
	}
}

// TestAscents: of ten columns that noise hides, starts find up to where draws are, all but few.
func TestAscents(t *testing.T) {
	s := model.Shape{P: 10, Intercept: true}
	c := &modeltest.Simulation{Shape: s, Prior: modeltest.TamePrior(s), N: 100, Kind: release.Ball, Scale: 3, Tilted: true}
	lost := 0
	for trial := range 25 {
		rng := rand.New(rand.NewPCG(uint64(trial), 77))
		_, obs := c.Draw(rng)
		var tops []float64
		for range 4 {
			f := newDensity(alone(obs), c.Prior)
			x := make([]float64, f.Dim())
			if !f.start(x, rng) {
				t.Fatal("no start")
			}
			tops = append(tops, slices.Max(ascend(f, x).heights))
		}
		for _, top := range tops {
			if top < slices.Max(tops)-50 { // half as many as there are coordinates: where draws are
				lost++
			}
		}
	}
	if lost > 1 {
		t.Errorf("%d of 100 starts find no way up", lost)
	}
}
