package gibbs

import (
	"math"
	"math/rand/v2"
)

// mover moves coordinates of a density with Laplace's kinks in it: by HMC, and now and
// then by negating one whose sign the quadratic statistics may leave open. Both are
// reversible.
type mover struct {
	*hmc
	flips  target // the density, in coordinates in which flips are made
	fisher *fisher
	signs  []int
	last   transition
	moved  bool // the last was HMC
}

const (
	// kinkedAccept is the acceptance that steps along a slope which is not the density's
	// are adapted to; see docs/mcmc-exact.md.
	kinkedAccept = 0.65
	// fewLeapfrogs bounds trajectories of some coordinates, between which others move;
	// manyLeapfrogs those of all there are.
	fewLeapfrogs, manyLeapfrogs = 6, 20
)

func newMover(t, flips target, signs []int, most int) *mover {
	f := newFisher(t.Dim())
	k := &mover{hmc: newHMC(t, f), flips: flips, fisher: f, signs: signs}
	k.most, k.stepSize.Target = most, kinkedAccept
	k.restart(firstStepSize)
	return k
}

// step moves x.
func (k *mover) step(x []float64, rng *rand.Rand) transition {
	if k.choose(rng); k.moved {
		k.last = k.hmc.step(x, rng)
	} else {
		k.last = k.flip(x, rng)
	}
	return k.last
}

// choose decides what the next step is.
func (k *mover) choose(rng *rand.Rand) { k.moved = len(k.signs) == 0 || rng.Float64() >= flipShare }

func (k *mover) flip(x []float64, rng *rand.Rand) transition {
	t := transition{logDensity: k.flips.LogDensity(k.grad, x)}
	copy(k.prop, x)
	at := k.signs[rng.IntN(len(k.signs))]
	k.prop[at] = -k.prop[at]
	after := k.flips.LogDensity(k.propGrad, k.prop)
	if t.accept = math.Min(1, math.Exp(after-t.logDensity)); !(t.accept >= 0) {
		t.accept = 0
	}
	if t.accepted = rng.Float64() < t.accept; t.accepted {
		copy(x, k.prop)
		t.logDensity = after
	}
	return t
}

// adapt takes the last step, which ended at x, into warm-up; see clt.Adapt.
func (k *mover) adapt(x []float64, iteration, warmup int) {
	done := iteration + 1
	if k.moved {
		k.stepSize.Update(k.last.accept)
		if done > share(firstWindow/2, warmup) {
			k.fisher.add(x, k.grad)
		}
	}
	if windowCloses(done, warmup) && k.fisher.Update() {
		k.restart(whitenedStep)
	}
	if done == warmup {
		k.stepSize.Settle()
	}
}
