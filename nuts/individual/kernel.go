package individual

import (
	"errors"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// kernel is one chain: NUTS moves parameters and rows, flips a sign among them.
type kernel struct {
	*nuts.Sampler
	density *density
	flip    *flip
}

var errStart = errors.New("mcmc-ind: the prior and the statistics differ too much in scale to be computed with in floating point; state a prior closer to scaled units")

// steepAccept is the acceptance to adapt to where the noise is normal: at 0.8 one step in
// two thousand of gau1_n30_sd0.5 lands so far out that it counts as divergent. It costs no
// leapfrog steps there.
const steepAccept = 0.9

// newKernel starts a chain.
func newKernel(obs *model.Observation, prior *model.Prior, clamping bool, rng *rand.Rand) (*kernel, error) {
	f := newDensity(obs, prior, clamping)
	k := &kernel{density: f, flip: newFlip(f)}
	x := make([]float64, f.Dim())
	if !f.start(x, prior, rng) {
		return nil, errStart
	}
	var err error
	o := nuts.Options{Dense: f.lead()}
	if obs.Kind == release.Gaussian {
		o.TargetAccept = steepAccept
	}
	if k.Sampler, err = nuts.New(f, x, o); err != nil {
		return nil, errStart
	}
	return k, nil
}

// Step does one transition.
func (k *kernel) Step(rng *rand.Rand) nuts.Info {
	info := k.Sampler.Step(rng)
	if k.flip.step(k.Position(), k.LogDensity(), rng) {
		k.Moved()
		info.LogDensity = k.LogDensity()
	}
	return info
}

// Adapt is called by the driver after each warm-up step.
func (k *kernel) Adapt(iteration, warmup int) {
	if done := iteration + 1; done == warmup/20 || done == warmup/10 {
		k.Moved() // s at the chain's position
		k.density.noise.Reach(k.density.s)
		k.Moved()
	}
	k.Sampler.Adapt(iteration, warmup)
}

// Params writes the parameters.
func (k *kernel) Params(dst []float64) {
	k.density.set(k.Position())
	k.density.params.Write(dst)
}
