package gibbs

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// TestSweepsHaveNoMemory: a sweep depends on where the chain stands and on chance alone. From
// the same place by the same random numbers it comes to the same end, whatever was between.
func TestSweepsHaveNoMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 1))
	for _, latent := range []bool{false, true} {
		for _, shared := range []bool{false, true} {
			k := newJointSites(t, shared, latent).warm(rng)
			var states []*state
			for _, s := range k.all {
				states = append(states, s.state)
			}
			hasNoMemory(t, fmt.Sprintf("sites, shared=%t n latent=%t", shared, latent), func(rng *rand.Rand) { k.Step(rng) }, states, rng)
		}
		g := newJoint(t, 2, 12, 3)
		if g.kind = release.Laplace; latent {
			g.count = 3
		}
		k := g.start(rng)
		hasNoMemory(t, fmt.Sprintf("one release, n latent=%t", latent), func(rng *rand.Rand) { k.kernel.Step(rng) }, []*state{k.state}, rng)
	}
}

func hasNoMemory(t *testing.T, name string, sweep func(*rand.Rand), states []*state, rng *rand.Rand) {
	t.Helper()
	stand := func() (all []standing) {
		for _, c := range states {
			all = append(all, c.standing())
		}
		return all
	}
	for seed := range uint64(100) {
		before := stand()
		sweep(rand.New(rand.NewPCG(seed, 53)))
		after := stand()
		for range 3 {
			sweep(rng)
		}
		for j, c := range states {
			c.stand(before[j])
		}
		sweep(rand.New(rand.NewPCG(seed, 53)))
		if again := stand(); !reflect.DeepEqual(after, again) {
			t.Fatalf("%s: sweep %d from one place ends at\n%+v, and later at\n%+v", name, seed, after, again)
		}
	}
}
