package exact

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/nuts"
)

// errRounding is where a prior and statistics differ by so many orders of
// magnitude that their sum is not positive definite in float64.
var errRounding = errors.New("mcmc-exact: the prior and the statistics differ too much in scale to be added in floating point; state a prior closer to scaled units")

// single is the density of one release, by its value and its slope where value was last.
type single interface {
	nuts.Chain
	start(x []float64, rng *rand.Rand) bool
	value(x []float64) (logp float64, ok bool)
	slope(grad, x []float64)
	draw(k *nuts.Sampler, rng *rand.Rand) // draws the parameters given the statistics
}

// logDensity is that of a nuts.Target.
func logDensity(f single, grad, x []float64) (float64, error) {
	logp, ok := f.value(x)
	if !ok {
		return 0, nuts.ErrReject
	}
	f.slope(grad, x)
	return logp, nil
}

// mostStarts are plenty: of a start that no rows can have another is drawn.
const mostStarts = 1000

// newKernel starts a chain of a density on the way up from a start that rows can have, and draws the parameters.
func newKernel(f single, rng *rand.Rand) (*nuts.Sampler, error) {
	o := nuts.Options{StepError: stepError, LearnLength: true}
	if f.Dim() <= fewCoordinates {
		o.Dense = f.Dim()
	}
	k, err := startAt(f, func(x []float64, rng *rand.Rand) bool {
		if !f.start(x, rng) {
			return false
		}
		way := ascend(f, x)
		copy(x, way.first())
		f.Reach(way.mode())
		return true
	}, o, rng)
	if err != nil {
		return nil, err
	}
	f.draw(k, rng)
	return k, k.Err()
}

// startAt starts a chain at a start that rows can have, and that has a density in floating point.
func startAt(f nuts.Chain, start func(x []float64, rng *rand.Rand) bool, o nuts.Options, rng *rand.Rand) (*nuts.Sampler, error) {
	x := vec(f.Dim())
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
// fewCoordinates or less a warm-up tells a dense one, which takes half as many steps. Where noise reaches to singular scatters walls are steep, and a step that serves
// elsewhere may err by hundreds: one that errs by more than stepError is made of smaller ones.
const stepError, fewCoordinates = 10, 30

// put moves a chain to where its density's own move went.
func put(k *nuts.Sampler, x []float64) {
	if !k.Put(x) {
		k.Fail(errRounding)
	}
}

// Move draws the parameters, and flips. Where w was renewed, the density was last taken where the chain
// stands; the parameters are of the statistics before the flip, which needs no density there then.
func (f *density) Move(k *nuts.Sampler, rng *rand.Rand) {
	if f.response.sigma.kurtosis.Renew(&f.response.sigma.logW, k, rng) {
		f.drawGiven(rng)
	} else {
		f.draw(k, rng)
	}
	f.flip(k, rng)
}

// Reach makes the noise's slopes the derivative about x.
func (f *density) Reach(x []float64) {
	f.set(x)
	f.noisy.vector()
	f.noise.Reach(f.noisy.s)
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
	after, ok := f.value(x)
	if ok && rng.Float64() < math.Exp(after-f.logJ-before) {
		f.slope(grad, x)
		k.MoveTo(x, after, grad)
	}
}

func (f *density) draw(k *nuts.Sampler, rng *rand.Rand) {
	if _, ok := f.value(k.Position()); !ok {
		k.Fail(errRounding)
		return
	}
	f.drawGiven(rng)
}

// drawGiven is draw where value was last.
func (f *density) drawGiven(rng *rand.Rand) {
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
	n := f.obs.StartRows(rng)
	f.rows.set(x, n)
	f.own.disperse(f.obs, n, rng)
	for i := f.coordinates.end(); i < f.coordinates.dim(); i++ {
		x[i] = rng.NormFloat64()
	}
	return f.coordinates.place(x, f.own)
}
