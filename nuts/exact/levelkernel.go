package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// newLevelsKernel starts a chain, whose moves are of counts, and a draw of the parameters.
func newLevelsKernel(site *model.Site, prior *model.Prior, rng *rand.Rand) (*nuts.Sampler, error) {
	return newByLevel(site.Observation, prior).kernel(rng)
}

func (f *byLevel) kernel(rng *rand.Rand) (*nuts.Sampler, error) {
	k, err := startChain(f, f.start, rng)
	if err != nil {
		return nil, err
	}
	f.draw(k, rng)
	return k, k.Err()
}

// start writes coordinates to start from: counts that z may tell of, D_x and D_yy of a scatter that it
// may, and all else as if it were standard normal.
func (f *byLevel) start(x []float64, rng *rand.Rand) bool {
	f.take(f.startCounts(rng))
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	d := f.q + 1
	part := &model.Observation{Shape: model.Shape{P: f.q, Intercept: true}, N: f.obs.N, Kind: f.obs.Kind, Z: make([]float64, release.Length(d)), Scale: slices.Repeat([]float64{f.squareScale}, release.Length(d)), Frame: f.obs.Frame}
	for j := range d {
		for h := j; h < d; h++ {
			v := f.toldOwn[f.levels*d+release.Index(d, j, h)-d]
			for l, count := range f.counts {
				row := f.toldOwn[l*d : (l+1)*d]
				v -= row[j] * row[h] / max(count, 1)
			}
			part.Z[release.Index(d, j, h)] = v
		}
	}
	f.within.disperse(make([]float64, len(part.Z)), part, f.obs.N, rng)
	f.placeRows(x)
	_, ok := f.value(x)
	return ok
}

// startCounts are whole, sum to n, and are about what z tells, noise drawn anew.
func (f *byLevel) startCounts(rng *rand.Rand) []float64 {
	told, n := f.obs.Told.Counts, f.obs.N
	counts, sum := make([]float64, f.levels), 0.0
	for i, z := range told {
		counts[f.levels-len(told)+i] = max(0, min(n, math.Round(z+model.RandNoise(f.obs.Kind, f.countScale, rng))))
	}
	if len(told) < f.levels {
		counts[0] = n - counts[1]
	}
	for _, c := range counts {
		sum += c
	}
	left := n
	for l, c := range counts {
		if sum == 0 {
			break
		}
		counts[l] = math.Floor(c * n / sum)
		left -= counts[l]
	}
	most := 0
	for l, c := range counts {
		if c > counts[most] {
			most = l
		}
	}
	counts[most] += left
	return counts
}

// Move moves counts, and draws the parameters.
func (f *byLevel) Move(k *nuts.Sampler, rng *rand.Rand) {
	f.sumCounts(k, rng)
	f.moveCounts(k, rng)
	f.response.sigma.kurtosis.Renew(&f.response.sigma.logW, k, rng)
	f.draw(k, rng)
}

// drawGiven draws θ, σ² and T within levels where value was last. It reports false where rounding forbids.
func (f *byLevel) drawGiven(rng *rand.Rand) bool {
	f.params.Sigma2, f.params.LogW = math.Exp(2*f.ell), f.response.sigma.logW
	f.law.draw(f.tau, rng)
	return f.response.draw(f.params.Theta, f.law.roots, f.prior.sums, f.prior.statistics, f.lambda, rng)
}

// draw draws the parameters given the statistics. Mean and covariance of the covariates are those over
// all levels, of shares that are Dirichlet's given the counts:
//
//	μ = Σ_l π_lμ_l,   T_xx = T + Σ_l π_l(μ_l − μ)(μ_l − μ)ᵀ,   T_lx = 2π_l(μ_l − μ),   T_ll = 4π_l(1 − π_l), T_lh = −4π_lπ_h.
func (f *byLevel) draw(k *nuts.Sampler, rng *rand.Rand) {
	if _, ok := f.value(k.Position()); !ok || !f.drawGiven(rng) {
		k.Fail(errRounding)
		return
	}
	share, sum := f.share, 0.0
	for l, c := range f.counts {
		share[l] = 0.5 * variate.Chi2(2*(c+1), rng)
		sum += share[l]
	}
	p, mean, tau := f.m-1, f.params.MuX, f.params.Tau
	clear(mean)
	for l := range share {
		share[l] /= sum
		addScaled(mean[f.k:], share[l], f.law.mu[l])
	}
	for c := range f.k {
		own := share[c+1]
		mean[c] = 2*own - 1
		for h := range c {
			tau[c*p+h] = -4 * own * share[h+1]
		}
		tau[c*p+c] = 4 * own * (1 - own)
	}
	for j := range f.q {
		at := (f.k + j) * p
		for c := range f.k {
			tau[at+c] = 2 * share[c+1] * (f.law.mu[c+1][j] - mean[f.k+j])
		}
		for i := range j + 1 {
			v := f.tau[j*f.q+i]
			for l, s := range share {
				v += s * (f.law.mu[l][j] - mean[f.k+j]) * (f.law.mu[l][i] - mean[f.k+i])
			}
			tau[at+f.k+i] = v
		}
	}
	for i := range p {
		for j := range i {
			tau[j*p+i] = tau[i*p+j]
		}
	}
}

// Reach makes the noise's slopes the derivative about x.
func (f *byLevel) Reach(x []float64) {
	if _, ok := f.set(x); ok {
		f.tell()
		f.noise.Reach(f.told)
	}
}

// Write writes the parameters of the last draw.
func (f *byLevel) Write(dst, _ []float64) { f.params.Write(dst) }
