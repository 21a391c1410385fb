package exact

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// kernel is one chain: NUTS and flips move the statistics, then the parameters
// are drawn given them.
type kernel struct {
	*nuts.Sampler
	density      *density
	flip         *flip
	conditionals *model.Conditionals
	params       *model.Params
	s            []float64
	err          error
}

// errRounding is where a prior and statistics differ by so many orders of
// magnitude that their sum is not positive definite in float64.
var errRounding = errors.New("mcmc-exact: the prior and the statistics differ too much in scale to be added in floating point; state a prior closer to scaled units")

// newKernel starts a chain.
func newKernel(obs *model.Observation, prior *model.Prior, rng *rand.Rand) (*kernel, error) {
	f := newDensity(obs, prior)
	k := &kernel{density: f, flip: newFlip(f), s: make([]float64, len(obs.Z)),
		conditionals: model.NewConditionals(obs.Shape, prior, true), params: model.NewParams(obs.Shape)}
	psi := make([]float64, f.Dim())
	k.start(psi, rng)
	var err error
	if k.Sampler, err = nuts.New(f, psi, options(f)); err != nil {
		return nil, errRounding
	}
	k.draw(rng)
	return k, k.err
}

// kinkedAccept is the acceptance to adapt to where the noise is Laplace's. With five
// covariates the smoothed slopes alone keep it below 0.83, however short the step.
const kinkedAccept = 0.65

// options are those of the sampler: all coordinates share a dense metric.
func options(f *density) nuts.Options {
	o := nuts.Options{Dense: f.Dim()}
	if f.obs.Kind == release.Laplace {
		o.TargetAccept = kinkedAccept
	}
	return o
}

// Step does one transition.
func (k *kernel) Step(rng *rand.Rand) nuts.Info {
	info := k.Sampler.Step(rng)
	k.flip.step(k.Sampler, rng)
	info.LogDensity = k.LogDensity()
	k.draw(rng)
	return info
}

// Adapt is called by the driver after each warm-up step.
func (k *kernel) Adapt(iteration, warmup int) {
	if done := iteration + 1; done == warmup/20 || done == warmup/10 {
		k.density.noise.Reach(k.s)
		k.Moved()
	}
	k.Sampler.Adapt(iteration, warmup)
}

// draw draws the parameters given the statistics.
func (k *kernel) draw(rng *rand.Rand) {
	f := k.density
	n := f.rows(k.Position())
	f.statistics.set(k.Position(), n)
	f.statistics.vector(k.s)
	if !k.conditionals.Draw(k.params, k.s, n, rng) {
		k.err = errRounding
	}
}

// Err is the error that ends the run, if any.
func (k *kernel) Err() error {
	if k.err != nil {
		return k.err
	}
	return k.Sampler.Err()
}

// Params writes the parameters, and n where it is latent.
func (k *kernel) Params(dst []float64) {
	at := k.params.Write(dst)
	if k.density.obs.Count.Latent() {
		dst[at] = k.density.rows(k.Position())
	}
}

// start writes coordinates that both the prior and z allow, as dispersed as they
// do. Each statistic is a mean of one drawn from the prior and of z with noise
// drawn anew, weighted by their precisions: sums of n values in the box spread
// over about n. Where no rows have such statistics, they are moved towards those
// from the prior: statistics that some rows have form a convex set. So they are as
// well where columns would nearly be collinear, for chains find out of that corner
// slowly.
func (k *kernel) start(psi []float64, rng *rand.Rand) {
	obs, n := k.density.obs, k.density.obs.N
	if obs.Count.Latent() {
		n = obs.Count.Start(rng)
		psi[len(obs.Z)] = math.Log(n - k.density.leastRows())
	}
	moments := model.NewMoments(obs.Shape)
	for ok := false; !ok; ok = moments.Factor() {
		k.conditionals.DrawPrior(k.params, rng)
		moments.Set(k.params)
	}
	prior := make([]float64, len(obs.Z))
	moments.RandExact(prior, n, rng)
	k.density.statistics.disperse(psi, k.s, obs, prior, n, rng)
}

// disperse writes coordinates between z and statistics drawn from the prior, as start
// says; s is a buffer, that is left at their statistics.
func (t *statistics) disperse(psi, s []float64, obs *model.Observation, prior []float64, n float64, rng *rand.Rand) {
	near, drawn := make([]float64, len(prior)), make([]float64, len(prior))
	for i, z := range obs.Z {
		ratio := obs.Scale[i] / n
		near[i] = (z + obs.Scale[i]*rng.NormFloat64() + ratio*ratio*prior[i]) / (1 + ratio*ratio)
	}
	t.coordinates(drawn, prior, n)
	for weight := 1.0; weight > 1e-3; weight *= 0.8 {
		for i, v := range prior {
			s[i] = weight*near[i] + (1-weight)*v
		}
		if t.coordinates(psi, s, n) && t.wide(psi, drawn, obs.Scale[0]/n) {
			return
		}
	}
	copy(psi, drawn)
	copy(s, prior)
}

// wide tells whether the spread of each column, given those before it, is not far
// below both another's and what noise of this scale in the mean can hide.
func (t *statistics) wide(psi, other []float64, noise float64) bool {
	hidden := 0.5 * math.Log(noise)
	for i := range t.m {
		if at := diagonal(t.m, i); psi[at] < math.Min(other[at], hidden)-1 {
			return false
		}
	}
	return true
}
