package nuts

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/dpreg/dpreg/mcmc"
)

// fewLeapfrogs are the least of an adapted transition over the fourth root of the dimension, to which
// the step size is inverse (Beskos et al. 2013, Bernoulli 19(5A), 1501–1534).
const fewLeapfrogs = 2

// measured is how long a chain is run to find what its steps take.
const measured = 100 * time.Millisecond

// Expect tells plan.Expect what a run of the plan is to take: it times the leapfrog steps
// of a chain of its own, not yet adapted, and of a generator of its own. A transition takes from fewLeapfrogs
// to so many of these over the fourth root of the dimension. Errors: the chain does not start, or fails before its first leapfrog.
func Expect(start func(int, *rand.Rand) (*Sampler, error), plan mcmc.Plan, manyLeapfrogs float64) error {
	rng := rand.New(rand.NewPCG(plan.Seed, 0))
	k, err := start(0, rng)
	if err != nil {
		return err
	}
	k.Step(rng) // looks for a step size first
	leapfrogs, begin := 0, time.Now()
	for k.Err() == nil && (leapfrogs == 0 || time.Since(begin) < measured) {
		leapfrogs += k.Step(rng).Leapfrogs
	}
	if leapfrogs == 0 {
		return k.Err()
	}
	each := float64(time.Since(begin)) / float64(leapfrogs) * math.Sqrt(math.Sqrt(float64(len(k.Position()))))
	plan.Expect(plan.Foresee(time.Duration(fewLeapfrogs*each), time.Duration(manyLeapfrogs*each)))
	return nil
}
