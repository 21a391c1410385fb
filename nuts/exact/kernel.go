package exact

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// errRounding is where a prior and statistics differ by so many orders of
// magnitude that their sum is not positive definite in float64.
var errRounding = errors.New("mcmc-exact: the prior and the statistics differ too much in scale to be added in floating point; state a prior closer to scaled units")

// newKernel starts a chain of density, whose moves are flips and a draw of the parameters
// given the statistics.
func newKernel(site *model.Site, prior *model.Prior, rng *rand.Rand) (*nuts.Sampler, error) {
	f := newDensity(site, prior)
	k, err := startChain(f, f.start, rng)
	if err != nil {
		return nil, err
	}
	f.draw(k, false, rng)
	return k, k.Err()
}

// mostStarts are plenty: of a start that no rows can have another is drawn.
const mostStarts = 1000

// startChain starts a chain of a density on the way up from a start that rows can have.
func startChain(f nuts.Chain, start func(x []float64, rng *rand.Rand) bool, rng *rand.Rand) (*nuts.Sampler, error) {
	o := nuts.Options{TargetAccept: accept, StepError: stepError}
	if f.Dim() <= fewCoordinates {
		o.Dense = f.Dim()
	}
	return startAt(f, func(x []float64, rng *rand.Rand) bool {
		if !start(x, rng) {
			return false
		}
		way := ascend(f, x)
		copy(x, way.first())
		f.Reach(way.mode())
		return true
	}, o, rng)
}

// startAt starts a chain at a start that rows can have, and that has a density in floating point.
func startAt(f nuts.Chain, start func(x []float64, rng *rand.Rand) bool, o nuts.Options, rng *rand.Rand) (*nuts.Sampler, error) {
	x := make([]float64, f.Dim())
	for range mostStarts {
		if !start(x, rng) {
			continue
		}
		if k, err := nuts.New(f, x, o); err == nil {
			return k, nil
		}
	}
	return nil, errRounding
}

// Coordinates are about standard normal given those before them, and many have a diagonal metric; of
// fewCoordinates or less a warm-up tells a dense one, which takes half as many steps. The acceptance to
// adapt to is accept. Where noise reaches to singular scatters walls are steep, and a step that serves
// elsewhere may err by hundreds: one that errs by more than stepError is made of smaller ones.
const accept, stepError, fewCoordinates = 0.65, 10, 30

// Move draws the parameters, and flips. Where w was renewed, the density was last taken where the chain
// stands; the parameters are of the statistics before the flip, which needs no density there then.
func (f *density) Move(k *nuts.Sampler, rng *rand.Rand) {
	f.draw(k, f.response.sigma.kurtosis.Renew(&f.response.sigma.logW, k, rng), rng)
	f.flip(k, rng)
}

// Reach makes the noise's slopes the derivative about x.
func (f *density) Reach(x []float64) {
	f.set(x)
	f.noisy.vector(f.s)
	f.noise.Reach(f.s)
}

// flip negates one mean or one entry of D below its diagonal: the noisier linear
// statistics may leave a sign open that the quadratic ones tell nothing of, so
// that the posterior has mirrored modes which no trajectory joins. The negation
// is an involution of Jacobian 1 in (v̄, D), so Metropolis' test by the density there leaves
// the posterior invariant. The density was last taken where the chain stands.
func (f *density) flip(k *nuts.Sampler, rng *rand.Rand) {
	t := f.own
	x, grad := k.Proposal()
	before := k.LogDensity() - f.logJ
	i, j := rng.IntN(t.m), 0
	if i > 0 {
		j = rng.IntN(i + 1)
	}
	if j == i {
		t.mean[i] = -t.mean[i]
	} else {
		t.d[i*t.m+j] = -t.d[i*t.m+j]
	}
	if !f.coordinates.place(x, t) {
		return
	}
	after, err := f.value(x)
	if err == nil && rng.Float64() < math.Exp(after-f.logJ-before) {
		f.slope(grad, x)
		k.MoveTo(x, after, grad)
	}
}

// draw draws the parameters given the statistics; there says that the density was last taken at them.
func (f *density) draw(k *nuts.Sampler, there bool, rng *rand.Rand) {
	if !there {
		if _, err := f.value(k.Position()); err != nil {
			k.Fail(errRounding)
			return
		}
	}
	copy(f.params.MuX, f.covariates.mu)
	f.covariates.draw(f.params.Tau, f.common.n, rng)
	f.params.Sigma2, f.params.LogW = math.Exp(2*f.ell), f.response.sigma.logW
	f.response.draw(f.params.Theta, f.common.statistics, rng)
}

// Write writes the parameters of the last draw, and n where it is latent.
func (f *density) Write(dst, _ []float64) {
	at := f.params.Write(dst)
	if f.obs.Count.Latent() {
		dst[at] = f.common.n
	}
}

// start writes coordinates to start from. It reports false where rounding forbids.
func (f *density) start(x []float64, rng *rand.Rand) bool {
	n := f.obs.N
	if f.obs.Count.Latent() {
		n = f.obs.Count.Start(rng)
	}
	f.rows.set(x, n)
	f.own.disperse(f.s, f.obs, n, rng)
	for i := range f.obs.Shape.P + f.coordinates.scales.dim() + 1 {
		x[f.coordinates.lambda()-f.obs.Shape.P+i] = rng.NormFloat64()
	}
	return f.coordinates.place(x, f.own)
}
