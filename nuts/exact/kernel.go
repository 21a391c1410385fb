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
	density *density
	flip    *flip
	params  *model.Params
	err     error
}

// errRounding is where a prior and statistics differ by so many orders of
// magnitude that their sum is not positive definite in float64.
var errRounding = errors.New("mcmc-exact: the prior and the statistics differ too much in scale to be added in floating point; state a prior closer to scaled units")

// newKernel starts a chain.
func newKernel(obs *model.Observation, prior *model.Prior, rng *rand.Rand) (*kernel, error) {
	f := newDensity(obs, prior)
	k := &kernel{density: f, flip: newFlip(f), params: model.NewParams(obs.Shape)}
	x := make([]float64, f.Dim())
	if !k.start(x, rng) {
		return nil, errRounding
	}
	f.ascend(x)
	var err error
	if k.Sampler, err = nuts.New(f, x, options(f)); err != nil {
		return nil, errRounding
	}
	k.draw(rng)
	return k, k.err
}

// The acceptances to adapt to where the noise is Laplace's, of which with five covariates the
// smoothed slopes alone keep it below 0.83, however short the step; where it is normal, and
// the posterior as well; and where noise reaches to singular scatters, whose walls are
// steep: at 0.8 four transitions in 10,000 diverge there, and one in a hundred where several
// releases share covariates.
const kinkedAccept, clearAccept, steepAccept = 0.75, 0.8, 0.9

// fewCoordinates is the number up to which a warm-up can tell a dense metric. Where the
// scatter is clear of noise coordinates are about standard normal, and need none.
const fewCoordinates = 150

// options are those of the sampler.
func options(f *density) (o nuts.Options) {
	if o.TargetAccept = steepAccept; f.coordinates.clear {
		o.TargetAccept = clearAccept
	} else if f.Dim() <= fewCoordinates {
		o.Dense = f.Dim()
	}
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
		k.density.reach(k.Position())
		k.Moved()
	}
	k.Sampler.Adapt(iteration, warmup)
}

// draw draws the parameters given the statistics.
func (k *kernel) draw(rng *rand.Rand) {
	f, x := k.density, k.params
	if _, err := f.value(k.Position()); err != nil {
		k.err = errRounding
		return
	}
	copy(x.MuX, f.covariates.mu)
	f.covariates.draw(x.Tau, f.statistics.n, rng)
	x.Sigma2 = math.Exp(2 * f.ell)
	f.response.draw(x.Theta, f.statistics, rng)
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
		dst[at] = k.density.statistics.n
	}
}

// start writes coordinates to start from. It reports false where rounding forbids.
func (k *kernel) start(x []float64, rng *rand.Rand) bool {
	f, n := k.density, k.density.obs.N
	if f.obs.Count.Latent() {
		n = f.obs.Count.Start(rng)
		f.coordinates.setRows(x, n-f.leastRows())
	}
	f.statistics.disperse(f.s, f.obs, n, rng)
	for i := range f.obs.Shape.P + f.coordinates.scales.dim() + 1 {
		x[f.coordinates.lambda()-f.obs.Shape.P+i] = rng.NormFloat64()
	}
	return f.coordinates.place(x, f.statistics)
}
