package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// variants are the kinds of joint problems.
type variant struct{ shared, partial bool }

var variants = []variant{{false, false}, {true, false}, {false, true}, {true, true}}

func (v variant) String() string { return fmt.Sprintf("shared=%t partial=%t", v.shared, v.partial) }

// freePriors are the default prior, and one whose columns share a free scale and whose means
// have the columns' covariance.
func freePriors(s model.Shape) []*model.Prior {
	one, all := model.DefaultPrior(s), model.DefaultPrior(s)
	shared := model.Scale{SD: 0.5}
	for j := range s.P {
		shared.Covariates = append(shared.Covariates, j)
	}
	all.Scales, all.MeanSD, all.Covariates.Kappa = []model.Scale{shared, all.Scales[0]}, nil, 0.3
	return []*model.Prior{one, all}
}

// TestJointGradient compares the gradient with differences of the smooth density.
func TestJointGradient(t *testing.T) {
	for i, v := range variants {
		for k, c := range []modeltest.Custodians{
			{Shape: model.Shape{P: 1, Intercept: true}, Sites: modeltest.Unequal(2)},
			{Shape: model.Shape{P: 2, Intercept: false}, Sites: modeltest.Unequal(3)},
			{Shape: model.Shape{P: 2, Intercept: true}, Sites: modeltest.Unequal(3), Counts: true},
		} {
			if testing.Short() && k != (i+2)%3 {
				continue
			}
			c.Shared, c.Partial = v.shared, v.partial
			rng := rand.New(rand.NewPCG(41, 1))
			problem := draw(&c, rng)
			problem.Prior = freePriors(c.Shape)[len(problem.Sites)%2]
			f := newJoint(problem)
			y := make([]float64, f.Dim())
			if !f.start(problem, y, rng) {
				t.Fatal("no start")
			}
			for i := range y {
				y[i] += rng.NormFloat64()
			}
			f.Reach(y)
			smooth := func() float64 {
				logp := must.Get(f.LogDensity(make([]float64, len(y)), y))(t)
				for _, part := range f.spokes {
					site := part.(*spoke)
					logp += modeltest.Smoothing(site.Observation, site.noisy.s, len(f.spokes))
					if site.Count.Latent() && site.Count.Kind == release.Laplace { // the count's kink is that of one statistic
						w, _ := site.noise.LogCount(site.n)
						logp += modeltest.SmoothNoise(site.Count.Kind, (site.Count.Noisy-site.n)/site.Count.Scale, 1) - w
					}
				}
				return logp
			}
			grad := make([]float64, len(y))
			must.Get(f.LogDensity(grad, y))(t)
			if law := f.hub.law; law != nil { // none unless covariates are shared
				for i, l := range law.d {
					if w := f.hub.Factor()[i]; math.Abs(l-w) > 1e-9 {
						t.Errorf("%s: entry %d of L is %g, that of model.Hub %g", v, i, l, w)
					}
				}
			}
			for i, x := range y {
				const h = 1e-4
				y[i] = x + h
				up := smooth()
				y[i] = x - h
				down := smooth()
				y[i] = x
				if d := (up - down) / (2 * h); !(math.Abs(grad[i]-d) < 1e-4*(1+math.Abs(d))) {
					t.Errorf("%s %+v: gradient %d of %d (hub %d, blocks %v): %g, by differences %g", v, c.Shape, i, len(y), f.at[0], f.blocks(), grad[i], d)
				}
			}
		}
	}
}

// draw draws custodians' data that lie in their boxes, for the default prior.
func draw(c *modeltest.Custodians, rng *rand.Rand) *model.Joint {
	c.Prior = model.Normal.BoxPrior(c.Shape)
	for {
		_, problem := c.Draw(rng)
		problem.Prior = model.DefaultPrior(c.Shape)
		if slices.IndexFunc(problem.Sites, outside) < 0 {
			return problem
		}
	}
}

// outside reports whether a mean or a mean square is above 1.
func outside(s *model.Site) bool {
	at := s.Shape.M()
	for j := range s.Shape.M() {
		if math.Abs(s.Z[j]) > s.N || s.Z[at] > s.N {
			return true
		}
		at += s.Shape.M() - j
	}
	return false
}

// TestJointOfOne: one release has the posterior that it has without a hub. Of 8000 draws a mean that is
// off by an eighth of an sd is found where every second draw counts.
func TestJointOfOne(t *testing.T) {
	plan := mcmc.Plan{Chains: 4, Warmup: testsize.Of(200, 500), Draws: testsize.Of(300, 2000), Seed: 4}
	one, two := model.Shape{P: 1, Intercept: true}, model.Shape{P: 2, Intercept: true}
	still := modeltest.TamePrior(two) // means of x are known
	still.MeanSD[0], still.MeanSD[1] = 0.02, 0.02
	for _, c := range []*modeltest.Simulation{
		{Shape: one, N: 50, Kind: release.Laplace, Scale: 5, Prior: modeltest.TamePrior(one)},
		{Shape: one, N: 12, Kind: release.Gaussian, Scale: 2, Count: 4, Prior: modeltest.TamePrior(one)},
		{Shape: two, N: 6, Kind: release.Gaussian, Scale: 2, Prior: still},
		{Shape: two, N: 12, Kind: release.Laplace, Scale: 2, Count: 4, Prior: model.Normal.BoxPrior(two)},
	}[:testsize.Of(1, 4)] {
		_, obs := c.Draw(rand.New(rand.NewPCG(41, 2)))
		p := modeltest.Problem(obs, c.Prior)
		want := must.Get(Method{}.Sample(context.Background(), p, plan))(t)
		for _, shared := range []bool{false, true} {
			p.SharedCovariates = shared
			problem := must.Get(p.Join())(t)
			got := sampleJoint(t, problem, plan)
			modeltest.Agree(t, got, choose(want, got.Names), 4.5) // 7e-6 a number
		}
	}
}

// choose takes these parameters, n[1] for n.
func choose(d *posterior.Draws, names []string) *posterior.Draws {
	return d.Map(names, func(dst, src []float64) {
		for i, name := range names {
			if name == "n[1]" {
				name = "n"
			}
			dst[i] = src[d.Index(name)]
		}
	})
}

func sampleJoint(t *testing.T, problem *model.Joint, plan mcmc.Plan) *posterior.Draws {
	t.Helper()
	start := func(_ int, rng *rand.Rand) (mcmc.Kernel[nuts.Info], error) { return newJointKernel(problem, rng) }
	return must.Get(mcmc.Run(context.Background(), mcmc.Columns{Params: problem.Names(), Info: nuts.InfoNames}, start, nuts.Keep, plan))(t)
}

// TestJointTrajectoriesAreShort: were slopes bent where residuals lie, the map left out, or
// θ_j centred coefficient by coefficient, transitions on ten large releases would take
// hundreds of leapfrog steps.
func TestJointTrajectoriesAreShort(t *testing.T) {
	for i, v := range append(variants, variants[:2]...)[:testsize.Of(1, 6)] {
		c, sites := &modeltest.Custodians{Shape: model.Shape{P: 2}, Shared: v.shared, Partial: v.partial}, 10
		if i >= len(variants) { // more statistics a release
			c.Shape, sites = model.Shape{P: 4, Intercept: true}, 5
		}
		for range sites {
			c.Sites = append(c.Sites, modeltest.Custodian{N: 10000, Kind: release.Gaussian, Scale: 5, Units: 1})
		}
		rng := rand.New(rand.NewPCG(46, 1))
		problem := draw(c, rng)
		d := sampleJoint(t, problem, mcmc.Plan{Chains: 2, Warmup: 300, Draws: 100, Seed: 1})
		if steps := infoSum(d, "n_leapfrog__") / 200; steps > 63 {
			t.Errorf("%s, p = %d: %.0f leapfrogs a draw", v, c.Shape.P, steps)
		}
	}
}

// TestJointTrajectoriesAreShortThoughReleasesDisagree: custodians with laws of the covariates,
// or coefficients, of their own are taken to have one. Residuals at the mode are of tens of
// standard deviations; were slopes bent from there, transitions would take up to 1023
// leapfrog steps and chains not arrive.
func TestJointTrajectoriesAreShortThoughReleasesDisagree(t *testing.T) {
	for _, c := range []struct {
		scale float64
		truth variant // as which the others of variants are taken
		taken bool    // shared
	}{{150, variants[0], true}, {5, variants[0], true}, {30, variants[2], false}, {30, variants[3], true}}[:testsize.Of(1, 4)] {
		simulated := &modeltest.Custodians{Shape: model.Shape{P: 2}, Shared: c.truth.shared, Partial: c.truth.partial}
		for range 10 {
			simulated.Sites = append(simulated.Sites, modeltest.Custodian{N: 10000, Kind: release.Gaussian, Scale: c.scale, Units: 1})
		}
		steps := 0.0 // a draw, over all data: of one, a short warm-up may leave twice as many
		for seed := range uint64(3) {
			problem := draw(simulated, rand.New(rand.NewPCG(48, seed)))
			problem.Shared, problem.Partial = c.taken, false
			d := sampleJoint(t, problem, mcmc.Plan{Chains: 2, Warmup: 200, Draws: 100, Seed: seed})
			steps += infoSum(d, "n_leapfrog__") / 600
			if name, r := worstRHat(d); !(r < 1.15) {
				t.Errorf("%s taken as shared=%t, noise of sd %g, data %d: R-hat of %s is %.2f", c.truth, c.taken, c.scale, seed, name, r)
			}
		}
		if steps > 31 {
			t.Errorf("%s taken as shared=%t, noise of sd %g: %.0f leapfrogs a draw", c.truth, c.taken, c.scale, steps)
		}
	}
}

// TestJointStartsArrive: where one release has next to no noise and the others much, what it
// tells is where chains start. From the plain sum of all statistics some chains of data 3, 4, 9, …, 12
// stay thousands below the mode, at 1023 leapfrogs a draw.
func TestJointStartsArrive(t *testing.T) {
	for _, v := range variants[:2] {
		c := &modeltest.Custodians{Shape: model.Shape{P: 2}, Shared: v.shared, Partial: v.partial}
		for _, scale := range []float64{2, 150, 150, 150, 150} {
			c.Sites = append(c.Sites, modeltest.Custodian{N: 20000, Kind: release.Gaussian, Scale: scale, Units: 1})
		}
		for seed := range uint64(13) {
			if testing.Short() && seed != 3 {
				continue
			}
			problem := draw(c, rand.New(rand.NewPCG(47, seed)))
			d := sampleJoint(t, problem, mcmc.Plan{Chains: 2, Warmup: 100, Draws: 50, Seed: seed})
			if steps := infoSum(d, "n_leapfrog__") / 100; steps > 63 {
				t.Errorf("%s, data %d: %.0f leapfrogs a draw", v, seed, steps)
			}
		}
	}
}

func TestJointNoAllocation(t *testing.T) {
	for _, v := range variants {
		c := &modeltest.Custodians{Shape: model.Shape{P: 1, Intercept: true}, Sites: modeltest.Unequal(3), Shared: v.shared, Partial: v.partial, Counts: true}
		rng := rand.New(rand.NewPCG(41, 3))
		problem := draw(c, rng)
		k := must.Get(newJointKernel(problem, rng))(t)
		for i := range 40 {
			k.Step(rng)
			k.Adapt(i, 40)
		}
		params := make([]float64, len(problem.Names()))
		if n := testing.AllocsPerRun(20, func() { k.Step(rng); k.Params(params) }); n != 0 {
			t.Errorf("%s: %g allocations a step", v, n)
		}
	}
}
