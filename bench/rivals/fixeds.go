package rivals

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
)

// fixedS is the chain of FixedS:
//
//	S_j is the positive semidefinite matrix nearest to Ŝ_j
//	θ | S_j, σ², ẑ_j         normal
//	σ² | S_j, θ, ẑ_j         by Metropolis
type fixedS struct {
	*regression
	last Info
}

func newFixedS(parties []*party, prior *model.Prior, rng *rand.Rand) (*fixedS, error) {
	k := &fixedS{regression: newRegression(parties, prior, rng)}
	for _, t := range k.parties {
		raised(t.s, t.xx, t.p, 0)
	}
	return k, k.start(rng)
}

// Step does one sweep.
func (k *fixedS) Step(rng *rand.Rand) Info {
	k.last = Info{}
	k.move(&k.last, rng)
	return k.last
}

// Adapt is called by the driver after each warm-up step.
func (k *fixedS) Adapt(iteration, warmup int) { k.adapt(k.last.accept, iteration == warmup-1) }
