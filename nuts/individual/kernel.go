package individual

import (
	"errors"
	"math/rand/v2"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

var errStart = errors.New("mcmc-ind: the prior and the statistics differ too much in scale to be computed with in floating point; state a prior closer to scaled units")

// steepAccept is the acceptance to adapt to where the noise is normal: at 0.8 one step in
// two thousand of gau1_n30_sd0.5 lands so far out that it counts as divergent. It costs no
// leapfrog steps there.
const steepAccept = 0.9

// newKernel starts a chain of density, whose move is a flip.
func newKernel(obs *model.Observation, prior *model.Prior, clamping bool, rng *rand.Rand) (*nuts.Kernel, error) {
	f := newDensity(obs, prior, clamping)
	x, o := make([]float64, f.Dim()), nuts.Options{Dense: f.lead()}
	if obs.Kind == release.Gaussian {
		o.TargetAccept = steepAccept
	}
	if !f.start(x, prior, rng) {
		return nil, errStart
	}
	return begin(f, x, o)
}

func begin(c nuts.Chain, x []float64, o nuts.Options) (*nuts.Kernel, error) {
	k, err := nuts.NewKernel(c, x, o)
	if err != nil {
		return nil, errStart
	}
	return k, nil
}

// Move negates one coordinate of v̄ or one of P below its diagonal: the noisier
// linear statistics may leave a sign open that the quadratic ones tell nothing of,
// so that the posterior has mirrored modes which no trajectory joins. The residuals
// stay. The negation is an involution of Jacobian 1, so Metropolis' test leaves
// the posterior invariant.
func (f *density) Move(k *nuts.Kernel, rng *rand.Rand) {
	at := f.signs[rng.IntN(len(f.signs))]
	x, _ := k.Proposal()
	x[at] = -x[at]
	k.Try(x, rng)
}

// signs lists what Move negates.
func (f *frame) signs() (at []int) {
	for i := range f.means() {
		at = append(at, i)
	}
	for i := range f.m {
		for j := range i {
			at = append(at, f.means()+diagonal(i)-i+j)
		}
	}
	return at
}

// Reach makes the noise's slopes the derivative about x.
func (f *density) Reach(x []float64) {
	f.set(x)
	f.sums.write(f.s)
	f.noise.Reach(f.s)
}

// Write writes the parameters.
func (f *density) Write(dst, x []float64) {
	f.set(x)
	f.params.Write(dst)
}
