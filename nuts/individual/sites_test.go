package individual

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// unequal are custodians of few rows.
func unequal() []modeltest.Custodian {
	return []modeltest.Custodian{{N: 12, Kind: release.Laplace, Scale: 2, Units: 1}, {N: 3, Kind: release.Gaussian, Scale: 1, Units: 0.6}, {N: 25, Kind: release.Laplace, Scale: 4, Units: 0.8}}
}

// TestSitesGradient compares the gradient with differences of the smooth density.
func TestSitesGradient(t *testing.T) {
	for _, s := range []model.Shape{{P: 1, Intercept: true}, {P: 2}, {P: 3, Intercept: true}} {
		for _, shared := range []bool{false, true} {
			for _, clamping := range []bool{false, true} {
				c := &modeltest.Custodians{Shape: s, Sites: unequal(), Shared: shared}
				if s.P == 3 {
					c.Sites[1].N = 6 // the exact law that draws s needs n > m
				} else if s.P == 2 {
					c.Sites[1].N = 5
				}
				rng := rand.New(rand.NewPCG(61, 1))
				_, problem := c.Draw(rng)
				f := newSites(problem, clamping)
				x := make([]float64, f.Dim())
				if !f.start(problem, x, rng) {
					t.Fatal("no start")
				}
				grad, unused := make([]float64, len(x)), make([]float64, len(x))
				smooth := func() float64 {
					logp, err := f.LogDensity(unused, x)
					if err != nil {
						t.Fatal(err)
					}
					for _, k := range f.all {
						for i, v := range k.s {
							w, _ := k.noise.LogDensity(i, v)
							logp += modeltest.SmoothNoise(k.release.Kind, (k.release.Z[i]-v)/k.release.Scale[i], len(f.all), len(f.all)*len(k.s)) - w
						}
					}
					return logp
				}
				if _, err := f.LogDensity(grad, x); err != nil {
					t.Fatal(err)
				}
				for i, v := range x {
					const h = 1e-5
					x[i] = v + h
					up := smooth()
					x[i] = v - h
					down := smooth()
					x[i] = v
					if d := (up - down) / (2 * h); !(math.Abs(grad[i]-d) < 1e-4*(1+math.Abs(d))) {
						t.Errorf("%+v shared=%t clamping=%t: gradient %d of %d (shared %d, blocks of %d) is %g, by differences %g", s, shared, clamping, i, len(x), f.lead, f.block, grad[i], d)
					}
				}
			}
		}
	}
}

// TestSitesSBC is simulation-based calibration with three unequal custodians. Each of
// the two bounds has a false-alarm rate of 1e-6.
func TestSitesSBC(t *testing.T) {
	trials := 12
	if *long {
		trials = 500
	}
	for _, shared := range []bool{false, true} {
		c := &modeltest.Custodians{Shape: model.Shape{P: 1, Intercept: true}, Sites: unequal(), Shared: shared}
		t.Run(fmt.Sprintf("shared=%t", shared), func(t *testing.T) {
			var names []string
			var ranks [][]float64
			for trial := range trials {
				rng := rand.New(rand.NewPCG(uint64(trial), 14))
				truth, problem := c.Draw(rng)
				names = problem.Names()
				k, err := newSitesKernel(problem, false, rng)
				if err != nil {
					t.Fatal(err)
				}
				ranks = append(ranks, modeltest.Ranks(k, truth, modeltest.Chain{Warmup: 300, Draws: 99, Thin: 3}, rng))
			}
			for j, name := range names {
				var u []float64
				for _, r := range ranks {
					u = append(u, r[j])
				}
				t.Logf("| %s | %.1f %% |", name, 100*modeltest.Coverage(u))
				if err := modeltest.Uniform(u); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}
