package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// TestSitesGradient compares the gradient of several releases' collapsed density with
// differences.
func TestSitesGradient(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c := &modeltest.Custodians{Shape: model.Shape{P: 2, Intercept: true}, Sites: modeltest.Unequal(3), Shared: shared}
		rng := rand.New(rand.NewPCG(51, 1))
		_, problem := c.Draw(rng)
		k := newExactSites(problem, rng)
		if !k.unconstrain() {
			t.Fatal("no coordinates")
		}
		grad, unused := make([]float64, k.target.Dim()), make([]float64, k.target.Dim())
		k.target.LogDensity(grad, k.phi)
		for i, x := range k.phi {
			const h = 1e-5
			k.phi[i] = x + h
			up := k.target.LogDensity(unused, k.phi)
			k.phi[i] = x - h
			down := k.target.LogDensity(unused, k.phi)
			k.phi[i] = x
			if d := (up - down) / (2 * h); !(math.Abs(grad[i]-d) < 1e-4*(1+math.Abs(d))) {
				t.Errorf("shared=%t: gradient %d of %d is %g, by differences %g", shared, i, len(grad), grad[i], d)
			}
		}
	}
}

// TestSitesSBC is simulation-based calibration with three unequal custodians. Long
// form, whose -v prints coverage:
//
//	go test ./gibbs -run SitesSBC -sbc.long -v -timeout 4h
//
// Each of the two bounds has a false-alarm rate of 1e-6.
func TestSitesSBC(t *testing.T) {
	trials, columns := 24, []int{1}
	if *sbcLong {
		trials, columns = 500, []int{1, 2}
	}
	for _, p := range columns {
		for _, shared := range []bool{false, true} {
			for _, counts := range []bool{false, true} {
				if counts && !*sbcLong {
					continue
				}
				c := &modeltest.Custodians{Shape: model.Shape{P: p, Intercept: true}, Sites: modeltest.Unequal(3), Shared: shared, Counts: counts}
				t.Run(fmt.Sprintf("p=%d shared=%t n latent=%t", p, shared, counts), func(t *testing.T) {
					chain := modeltest.Chain{Warmup: 500, Draws: 99, Thin: 10}
					if counts {
						chain.Warmup, chain.Thin = 1000, 60 // n moves slower
					}
					var names []string
					var ranks [][]float64
					for trial := range trials {
						rng := rand.New(rand.NewPCG(uint64(trial), 13))
						truth, problem := c.Draw(rng)
						names = problem.Names()
						ranks = append(ranks, modeltest.Ranks(mcmc.Kernel[Info](newExactSites(problem, rng)), truth, chain, rng))
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
	}
}

// TestSitesAllocate: no sweep does.
func TestSitesAllocate(t *testing.T) {
	for _, name := range []Kernel{Plain, Exact} {
		k, rng := someSites(name, 4, 2), rand.New(rand.NewPCG(51, 2))
		if n := testing.AllocsPerRun(20, func() { k.Step(rng) }); n != 0 {
			t.Errorf("%s: %g allocations a sweep", name, n)
		}
	}
}

// someSites is a chain for j custodians of 1000 rows and p covariates, after a short
// warm-up.
func someSites(name Kernel, j, p int) mcmc.Kernel[Info] {
	c := &modeltest.Custodians{Shape: model.Shape{P: p, Intercept: true}}
	for range j {
		c.Sites = append(c.Sites, modeltest.Custodian{N: 1000, Kind: release.Laplace, Scale: modeltest.LaplaceScale(c.Shape, 1), Units: 1})
	}
	rng := rand.New(rand.NewPCG(51, 3))
	_, problem := c.Draw(rng)
	if name == Plain {
		return &plainSites{newSites(problem, rng)}
	}
	k := newExactSites(problem, rng)
	for i := range 200 {
		k.Step(rng)
		k.Adapt(i, 200)
	}
	return k
}

// BenchmarkSites: a sweep costs in proportion to the number of custodians.
//
//	go test ./gibbs -run xxx -bench Sites -benchtime 100x
func BenchmarkSites(b *testing.B) {
	for _, name := range []Kernel{Plain, Exact} {
		for _, j := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/p=5/J=%d", name, j), func(b *testing.B) {
				k, rng := someSites(name, j, 5), rand.New(rand.NewPCG(51, 4))
				for b.Loop() {
					k.Step(rng)
				}
			})
		}
	}
}
