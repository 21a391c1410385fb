package mcmc_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// metropolis samples a standard normal by a random walk.
type metropolis struct{ x, step float64 }

// Step returns whether the proposal was accepted.
func (k *metropolis) Step(rng *rand.Rand) bool {
	x := k.x + k.step*rng.NormFloat64()
	accept := math.Log(1-rng.Float64()) < (k.x*k.x-x*x)/2
	if accept {
		k.x = x
	}
	return accept
}

func (k *metropolis) Params(dst []float64) { dst[0] = k.x }

// A kernel of one's own: state and step, and nothing about chains.
func Example() {
	start := func(chain int, rng *rand.Rand) (mcmc.Kernel[bool], error) {
		return &metropolis{x: 3 * rng.NormFloat64(), step: 2.4}, nil
	}
	keep := func(accepted bool, dst []float64) {
		if accepted {
			dst[0] = 1
		}
	}
	columns := mcmc.Columns{Params: []string{"x"}, Info: []string{"accept_stat__"}}
	plan := mcmc.Plan{Chains: 4, Warmup: 500, ESS: 1000, Seed: 1}

	draws, err := mcmc.Run(context.Background(), columns, start, keep, plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := posterior.Summarise(draws, posterior.DefaultLevel).Parameters[0]
	fmt.Println("ESS at least 1000:", min(x.ESSBulk, x.ESSTail) >= 1000)
	fmt.Println("R-hat below 1.01:", x.RHat < 1.01)
	fmt.Println("mean within 5 errors of 0:", math.Abs(x.Mean) < 5*x.MCSEMean)
	// Output:
	// ESS at least 1000: true
	// R-hat below 1.01: true
	// mean within 5 errors of 0: true
}
