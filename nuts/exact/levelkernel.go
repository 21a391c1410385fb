package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/nuts"
)

// start writes coordinates to start from: counts that z may tell of, D_x and D_yy of a scatter that it
// may, and all else as if it were standard normal.
func (f *byLevel) start(x []float64, rng *rand.Rand) bool {
	f.take(f.startCounts(rng))
	variate.Normals(x, 1, rng)
	f.disperse(rng)
	f.placeRows(x)
	_, ok := f.value(x)
	return ok
}

// Move moves counts, and draws the parameters.
func (f *byLevel) Move(k *nuts.Sampler, rng *rand.Rand) {
	x, _ := k.Proposal()
	if _, ok := f.value(x); !ok || !f.drawGiven(rng) {
		k.Fail(errRounding)
		return
	}
	if f.sumCounts(f, x, rng) {
		f.keep(x)
		put(k, x)
	}
	x, _ = k.Proposal()
	if f.moveCounts(f, x, k.LogDensity(), rng) {
		put(k, x)
	}
	f.response.sigma.kurtosis.Renew(&f.response.sigma.logW, k, rng)
	f.draw(k, rng)
}

// keep writes the coordinate of ℓ, which stays where counts move.
func (f *byLevel) keep(x []float64) {
	x[f.end()] = (f.ell - f.logScale - 0.5*math.Log(f.columns.square[f.q])) * f.root
}

// drawGiven draws θ, σ² and T within levels where value was last. It reports false where rounding forbids.
func (f *byLevel) drawGiven(rng *rand.Rand) bool {
	f.params.Sigma2, f.params.LogW = math.Exp(2*f.ell), f.response.sigma.logW
	f.law.draw(f.tau, rng)
	return f.response.draw(f.params.Theta, f.law.roots, f.prior.sums, f.prior.statistics, f.scales.lambda, rng)
}

// draw draws the parameters given the statistics.
func (f *byLevel) draw(k *nuts.Sampler, rng *rand.Rand) {
	if _, ok := f.value(k.Position()); !ok || !f.drawGiven(rng) {
		k.Fail(errRounding)
		return
	}
	f.drawOverall(rng)
}

// drawOverall draws mean and covariance of the covariates over all levels, given those within them, of shares that are
// Dirichlet's given the counts:
//
//	μ = Σ_l π_lμ_l,   T_xx = T + Σ_l π_l(μ_l − μ)(μ_l − μ)ᵀ,   T_cx = 2Σ_(c)π_l(μ_l − μ),   T_ch = 4(π_ch − π_cπ_h),
//
// Σ_(c) over the levels that column c has, π_ch the share of rows that both have.
func (f *levelSums) drawOverall(rng *rand.Rand) {
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
		for h := range c + 1 { // the share of rows of both
			tau[c*p+h] = 0
			for l, s := range share {
				if f.obs.Shape.Has(l, c) && f.obs.Shape.Has(l, h) {
					tau[c*p+h] += s
				}
			}
		}
		mean[c] = tau[c*p+c]
	}
	for c := range f.k {
		for h := range c {
			tau[c*p+h] = 4*tau[c*p+h] - 4*mean[c]*mean[h]
		}
		tau[c*p+c] = 4 * mean[c] * (1 - mean[c])
	}
	for c := range f.k {
		mean[c] = 2*mean[c] - 1
	}
	for j := range f.q {
		at := (f.k + j) * p
		for c := range f.k {
			tau[at+c] = 0
			for l, s := range share {
				if f.obs.Shape.Has(l, c) {
					tau[at+c] += 2 * s * (f.law.mu[l][j] - mean[f.k+j])
				}
			}
		}
		for i := range j + 1 {
			v := f.tau[j*f.q+i]
			for l, s := range share {
				v += s * (f.law.mu[l][j] - mean[f.k+j]) * (f.law.mu[l][i] - mean[f.k+i])
			}
			tau[at+f.k+i] = v
		}
	}
	dense.Symmetrise(tau, p)
	if len(f.params.Cells) > 0 {
		means := f.params.Cells[copy(f.params.Cells, share):]
		for l, mu := range f.law.mu {
			copy(means[l*f.q:], mu)
		}
	}
}

// Reach makes the noise's slopes the derivative about x.
func (f *byLevel) Reach(x []float64) {
	if f.set(x) {
		f.tell()
		f.noise.Reach(f.told)
	}
}

// Write writes the parameters of the last draw, and n where it is latent.
func (f *byLevel) Write(dst, _ []float64) { f.writeRows(dst[f.params.Write(dst):]) }
