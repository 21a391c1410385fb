package gibbs

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

var sbcLong = flag.Bool("sbc.long", false, "simulation-based calibration on 500 data sets a case, p = 1 and 3")

// TestSBC is simulation-based calibration (Talts et al. 2018) of the default
// kernel: parameters, statistics and noise from the model, a chain from the
// release alone, the rank of each true parameter among thinned draws. Ranks are
// uniform, and central 95 % intervals cover in 95 % of the trials, if and only
// if the posterior is right. The prior is conjugate where n is latent, else TamePrior. Long form, whose -v prints coverage:
//
//	go test ./gibbs -run SBC -sbc.long -v -timeout 2h
//
// Each of the four bounds of modeltest.Uniform has a false-alarm rate of
// 1e-6, some 2e-4 over all cases and parameters of the long form. By the ranks among 39 draws of 56
// data sets a posterior that is off by 0.8 of its sds, of half its sd, or of 2.5 times it is found with
// probabilities of 0.80, 0.87 and 0.99; among 127 draws of 45, which take twice as long, of 0.65, 0.86 and 1.
func TestSBC(t *testing.T) {
	trials, sizes := testsize.Of(15, 56), []int{1}
	if *sbcLong {
		trials, sizes = 500, []int{1, 3}
	}
	for _, p := range sizes {
		for _, kind := range []release.Kind{release.Laplace, release.Gaussian} {
			for _, neighbours := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
				t.Run(fmt.Sprintf("p=%d %s %s", p, kind, neighbours), func(t *testing.T) {
					if testing.Short() && neighbours == release.AddRemove {
						t.Skip("n moves slowly, and TestGeweke has it")
					}
					t.Parallel()
					sbc(t, p, trials, kind, neighbours)
				})
			}
		}
	}
}

func sbc(t *testing.T, p, trials int, kind release.Kind, neighbours release.Neighbours) {
	const n = 200
	privacy := release.Privacy{Epsilon: 1, Neighbours: neighbours}
	if kind == release.Gaussian {
		privacy.Delta = 1e-6
	}
	noise := must.Get(ssp.Calibrate(p+1, privacy, kind, ssp.Exact))(t)
	prior := newJoint(t, p, n, noise.Scale).prior
	if neighbours == release.ReplaceOne {
		prior = modeltest.TamePrior(model.Shape{P: p, Intercept: true})
	}
	simulation := &modeltest.Simulation{Shape: model.Shape{P: p, Intercept: true}, Prior: prior, N: n, Kind: kind, Scale: noise.Scale}
	chain := modeltest.Chain{Warmup: 500, Draws: 39, Thin: 12}
	if neighbours == release.AddRemove {
		simulation.Count = noise.Scale
		chain.Warmup, chain.Thin = 1000, 80 // n moves slower
	}
	var names []string
	ranks := modeltest.Calibrate(t, chain, trials, false, func(trial int) (mcmc.Kernel[Info], []float64, *rand.Rand) {
		rng := rand.New(rand.NewPCG(uint64(trial), 7))
		truth, obs := simulation.Draw(rng)
		names = obs.Names()
		return newExactSites(alone(obs, prior), rng), truth, rng
	})
	modeltest.Report(t, names, ranks)
}

// TestPooledSBC is simulation-based calibration with three unequal custodians whose
// coefficients are pooled partially. Long form, whose -v prints coverage:
//
//	go test ./gibbs -run PooledSBC -sbc.long -v -timeout 4h
//
// Each of the four bounds of modeltest.Uniform has a false-alarm rate of 1e-6, over all cases and parameters of
// the long form 2e-4.
func TestPooledSBC(t *testing.T) {
	testsize.Full(t, "TestPooledInvariant is of the same kernel, and sharper")
	trials := 12
	if *sbcLong {
		trials = 500
	}
	for _, shared := range []bool{false, true} {
		for _, counts := range []bool{false, true} {
			if counts && !*sbcLong {
				continue
			}
			c := &modeltest.Custodians{Shape: model.Shape{P: 1, Intercept: true}, Sites: modeltest.Unequal(3), Shared: shared, Partial: true, Counts: counts}
			t.Run(fmt.Sprintf("shared=%t n latent=%t", shared, counts), func(t *testing.T) {
				chain := modeltest.Chain{Warmup: 400, Draws: 59, Thin: 10}
				if *sbcLong {
					chain = modeltest.Chain{Warmup: 1000, Draws: 99, Thin: 40}
				}
				var names []string
				ranks := modeltest.Calibrate(t, chain, trials, false, func(trial int) (mcmc.Kernel[Info], []float64, *rand.Rand) {
					rng := rand.New(rand.NewPCG(uint64(trial), 14))
					truth, problem := c.Draw(rng)
					names = problem.Names()
					return newExactSites(problem, rng), truth, rng
				})
				modeltest.Report(t, names, ranks)
			})
		}
	}
}
