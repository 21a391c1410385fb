package gibbs

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
)

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
