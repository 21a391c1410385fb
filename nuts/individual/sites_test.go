package individual

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// unequal are custodians of few rows; the sums of the last two are in a frame.
func unequal() []modeltest.Custodian {
	return []modeltest.Custodian{{N: 12, Kind: release.Laplace, Scale: 2, Units: 1}, {N: 3, Kind: release.Gaussian, Scale: 1, Units: 0.6, Tilted: true}, {N: 25, Kind: release.Ball, Scale: 2, Units: 0.8, Tilted: true}}
}

// variants are the kinds of problems of several releases.
type variant struct{ shared, partial, clamping bool }

func (v variant) String() string {
	return fmt.Sprintf("shared=%t partial=%t clamping=%t", v.shared, v.partial, v.clamping)
}

func variants() (all []variant) {
	for i := range 8 {
		all = append(all, variant{i&1 > 0, i&2 > 0, i&4 > 0})
	}
	return all
}

// sitesAt draws a problem and a point to start from.
func sitesAt(t *testing.T, s model.Shape, v variant, rng *rand.Rand) (*model.Joint, *sites, []float64) {
	t.Helper()
	c := &modeltest.Custodians{Shape: s, Sites: unequal(), Shared: v.shared, Partial: v.partial}
	c.Sites[1].N = max(c.Sites[1].N, float64(s.M()+1)) // the exact law that draws s needs n > m
	_, problem := c.Draw(rng)
	f := newSites(problem, v.clamping)
	x := make([]float64, f.Dim())
	if !f.start(problem, x, rng) {
		t.Fatal("no start")
	}
	return problem, f, x
}

// TestSitesGradient compares the gradient with differences of the smooth density.
func TestSitesGradient(t *testing.T) {
	for _, s := range []model.Shape{{P: 1, Intercept: true}, {P: 2}, {P: 3, Intercept: true}} {
		for _, v := range variants() {
			_, f, x := sitesAt(t, s, v, rand.New(rand.NewPCG(61, 1)))
			grad, unused := make([]float64, len(x)), make([]float64, len(x))
			smooth := func() float64 {
				logp := must.Get(f.LogDensity(unused, x))(t)
				for _, k := range f.all {
					logp += modeltest.Smoothing(k.release.Observation, k.s, len(f.all))
				}
				return logp
			}
			smooth() // the statistics at x
			for _, k := range f.all {
				k.noise.Reach(k.s)
			}
			must.Get(f.LogDensity(grad, x))(t)
			for i, at := range x {
				const h = 1e-5
				x[i] = at + h
				up := smooth()
				x[i] = at - h
				down := smooth()
				x[i] = at
				if d := (up - down) / (2 * h); !(math.Abs(grad[i]-d) < 1e-4*(1+math.Abs(d))) {
					t.Errorf("%+v %s: gradient %d of %d (shared %d, blocks of %d) is %g, by differences %g", s, v, i, len(x), f.lead, f.block, grad[i], d)
				}
			}
		}
	}
}

func TestSitesNoAllocation(t *testing.T) {
	for _, v := range []variant{{shared: true}, {partial: true}, {true, true, true}} {
		rng := rand.New(rand.NewPCG(1, 2))
		problem, _, _ := sitesAt(t, model.Shape{P: 1, Intercept: true}, v, rng)
		k := must.Get(newSitesKernel(problem, v.clamping, rng))(t)
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

// TestSitesSBC is simulation-based calibration with three unequal custodians, where
// clamping is modelled of rows drawn one by one and clamped to each one's box. Each of the
// four bounds of modeltest.Uniform has a false-alarm rate of 1e-6. Where clamping is not modelled other engines have the
// same posterior, and TestMethodsAgreeOnSeveral of package exact is sharper than twelve data sets. Long form, whose -v prints coverage:
//
//	go test ./nuts/individual -run SitesSBC -individual.long -v -timeout 4h
func TestSitesSBC(t *testing.T) {
	testsize.Full(t, "what it samples agrees with other engines in short form, see TestJointlyMethodsAgree")
	for _, v := range variants() {
		if !*long && !(v.clamping && v.partial && v.shared) {
			continue
		}
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			trials := 12
			if *long {
				trials = 500
			}
			names, ranks := sitesRanks(t, v, trials)
			modeltest.Report(t, names, ranks)
		})
	}
}

// clampedSums writes the statistics of n rows, each clamped to [−1, 1], or clipped to the
// radius of the frame.
func clampedSums(obs *model.Observation, law *model.Moments, n float64, rng *rand.Rand) {
	m := len(law.Mean)
	g, v := make([]float64, m), make([]float64, m)
	clear(obs.Z)
	for range int(n) {
		for j := range g {
			g[j] = rng.NormFloat64()
		}
		dense.MulLowerVec(v, law.Chol, m, g)
		floats.Add(v, law.Mean)
		norm := floats.Norm(v, 2)
		for j := range v {
			if obs.Frame == nil {
				v[j] = min(1, max(-1, v[j]))
			} else {
				v[j] *= min(1, obs.Frame.Radius/norm)
			}
		}
		addStatistics(obs.Z, v)
	}
}

// sitesRanks returns the ranks of each parameter over the trials.
func sitesRanks(t *testing.T, v variant, trials int) (names []string, ranks [][]float64) {
	t.Helper()
	c := &modeltest.Custodians{Shape: model.Shape{P: 1, Intercept: true}, Sites: unequal(), Shared: v.shared, Partial: v.partial}
	if v.clamping {
		c.Sums = clampedSums
	}
	chain := modeltest.Chain{Warmup: 300, Draws: 99, Thin: 3}
	if v.partial { // the spread moves slower, and trajectories are longer
		chain = modeltest.Chain{Warmup: 150, Draws: 24, Thin: 3}
		if *long {
			chain = modeltest.Chain{Warmup: 500, Draws: 99, Thin: 10}
		}
	}
	ranks = modeltest.Calibrate(t, chain, trials, false, func(trial int) (mcmc.Kernel[nuts.Info], []float64, *rand.Rand) {
		rng := rand.New(rand.NewPCG(uint64(trial), 14))
		truth, problem := c.Draw(rng)
		names = problem.Names()
		k := must.Get(newSitesKernel(problem, v.clamping, rng))(t)
		return k, truth, rng
	})
	return names, ranks
}
