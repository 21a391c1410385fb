package gibbs

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
)

// TestCountInvariance: the move of a noisy n leaves the law as it is whatever is held, each by a
// density of its own, of any number of covariates. A power of √n too many in a density has a score of 9.5 or more in 10,000
// draws, and is missed with probability 1e-4.
func TestCountInvariance(t *testing.T) {
	for _, p := range []int{1, 2, 4}[:testsize.Of(2, 3)] {
		for _, which := range []held{heldX, heldS, heldBoth} {
			rng := rand.New(rand.NewPCG(60, 1))
			g := newJoint(t, p, 25, 10)
			g.kind, g.count = release.Gaussian, 8
			k := g.start(rng)
			for i := range 400 {
				observeAnew(k.state, rng)
				k.kernel.Step(rng)
				k.kernel.Adapt(i, 400)
			}
			s := k.kernel.(*exactSites).all[0]
			s.chance.held = which
			leavesUnchanged(t, fmt.Sprintf("p=%d, held %d", p, which), 10_000, func() { g.forward(k, rng) },
				func() {
					for range 4 {
						s.stepCount(rng)
					}
				},
				func(dst []float64) []float64 { return g.test(dst, k) })
		}
	}
}
