package posterior

import (
	"context"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/dpreg/dpreg/internal/parallel"
)

// load prepares chains for one diagnostic.
func load(chains [][]float64) *column {
	for _, chain := range chains {
		if len(chain) != len(chains[0]) {
			panic(fmt.Sprintf("posterior: chains of %d and %d draws", len(chains[0]), len(chain)))
		}
	}
	c := new(column)
	c.loadFrom(&Draws{Names: []string{"x"}, Chains: chains}, 0)
	return c
}

// RHat returns the rank-normalised split R-hat of one quantity, chains[c]
// its draws in chain c. Values above 1.01 say that the chains have not
// mixed.
//
// This and the other diagnostics are NaN where they mean nothing: a draw is
// NaN, all draws lie within 2⁻⁵² of each other, or half a chain has fewer
// than three draws (two, for RHat). A middle draw of an odd chain is left
// out. Infinite draws have ranks, so RHat and ESSBulk bear them, as long as
// the median is finite; the others are NaN. All of them panic where chains
// differ in length.
func RHat(chains [][]float64) float64 { return load(chains).rhat() }

// ESSBulk returns the effective sample size, over all chains, of the normal
// scores of the draws: the efficiency of estimates of location.
func ESSBulk(chains [][]float64) float64 { return load(chains).essBulk() }

// ESSTail returns the smaller of the effective sample sizes of the 5 % and
// the 95 % quantile.
func ESSTail(chains [][]float64) float64 { return load(chains).essTail() }

// ESSMean returns the effective sample size of the mean.
func ESSMean(chains [][]float64) float64 { return load(chains).essMean() }

// ESSSD returns the effective sample size of the standard deviation.
func ESSSD(chains [][]float64) float64 { return load(chains).essSD() }

// ESSQuantile returns the effective sample size of the p-quantile, NaN for
// p outside [0, 1].
func ESSQuantile(p float64, chains [][]float64) float64 { return load(chains).essQuantile(p) }

// MCSEMean returns the Monte Carlo standard error of the mean.
func MCSEMean(chains [][]float64) float64 { return load(chains).mcseMean() }

// MCSESD returns the Monte Carlo standard error of the standard deviation.
func MCSESD(chains [][]float64) float64 { return load(chains).mcseSD() }

// MCSEQuantile returns the Monte Carlo standard error of the p-quantile, NaN
// for p outside [0, 1].
func MCSEQuantile(p float64, chains [][]float64) float64 { return load(chains).mcseQuantile(p) }

// MinESS returns the smallest bulk or tail effective sample size over all
// parameters and the index of a parameter that has it. A parameter that is
// the same in every draw of every chain is known, not estimated, and left
// out; any other whose size is NaN counts as 0. Where nothing is left the
// result is 0, -1. Parameters are shared among the given number of
// goroutines, at least one.
func (d *Draws) MinESS(workers int) (ess float64, parameter int) {
	sizes := make([]float64, len(d.Names))
	columns := sync.Pool{New: func() any { return new(column) }}
	parallel.Each(context.Background(), max(1, workers), len(sizes), nil, func(_ context.Context, j int) error {
		c := columns.Get().(*column)
		defer columns.Put(c)
		c.loadFrom(d, j)
		sizes[j] = c.minESS()
		return nil
	})
	ess, parameter = math.Inf(1), -1
	for j, size := range sizes {
		if size < ess {
			ess, parameter = size, j
		}
	}
	if parameter < 0 {
		return 0, -1
	}
	return ess, parameter
}

// minESS is +Inf for a parameter that never moved.
func (c *column) minESS() float64 {
	if low, high := extremes(c.x); low == high {
		return math.Inf(1)
	}
	ess := min(c.essBulk(), c.essTail())
	if math.IsNaN(ess) {
		return 0
	}
	return ess
}

// size returns the effective sample size of the series, and uses it up.
func (c *column) size() float64 {
	if low, high := extremes(c.series); high-low < constantRange {
		return math.NaN()
	}
	c.acov.reset(c.series, c.means)
	return effectiveSize(&c.acov, c.half(), c.means)
}

// essBulk examines normal scores, which exist for infinite draws too.
func (c *column) essBulk() float64 {
	if c.nan || c.half() < 3 {
		return math.NaN()
	}
	c.rank()
	return c.size()
}

// essTail is the smaller size at the 5 % and the 95 % quantile.
func (c *column) essTail() float64 {
	return min(c.essQuantile(0.05), c.essQuantile(0.95))
}

// essOf examines f of the draws.
func (c *column) essOf(f func(x float64) float64) float64 {
	if !c.finite || c.constant || c.half() < 3 {
		return math.NaN()
	}
	c.split(f)
	return c.size()
}

func (c *column) essMean() float64 {
	return c.essOf(func(x float64) float64 { return x })
}

func (c *column) essSD() float64 {
	return c.essOf(func(x float64) float64 { return math.Abs(x - c.mean) })
}

// essQuantile examines the indicator of {x ≤ q}, q the p-quantile. At p = 1
// that would be constant; R takes the quantile half a draw below.
func (c *column) essQuantile(p float64) float64 {
	if p == 1 {
		n := float64(len(c.x))
		p = (n - 0.5) / n
	}
	q := c.quantile(p)
	if math.IsNaN(q) {
		return math.NaN()
	}
	below := func(x float64) float64 {
		if x <= q {
			return 1
		}
		return 0
	}
	return c.essOf(below)
}

// effectiveSize returns the effective sample size of chains of length n with
// the given means (Vehtari et al. 2021, section 3.2). With W the mean within-chain
// variance and V the pooled estimate of the posterior variance,
//
//	ρ̂(t) = 1 − (W − γ̂(t)) / V,   τ̂ = −1 + 2 Σ_t P(t),   ESS = S / τ̂,
//
// where P(t) = ρ̂(2t) + ρ̂(2t+1) is summed while positive and made monotone
// (Geyer 1992, Statistical Science 7(4)). τ̂ is not let below 1/log₁₀ S.
// Pairs and the last, single lag are treated as R's posterior treats them.
// It is NaN for chains of fewer than three draws, for constants, and where
// a variance overflows.
func effectiveSize(a *autocovariance, length int, means []float64) float64 {
	if length < 3 {
		return math.NaN()
	}
	n := float64(length)
	within := a.at(0) * n / (n - 1)
	pooled := a.at(0)
	if len(means) > 1 {
		pooled += variance(means, mean(means))
	}
	if !(pooled > 0) || math.IsInf(pooled, 0) {
		return math.NaN()
	}
	rho := func(t int) float64 { return 1 - (within-a.at(t))/pooled }
	size := float64(len(means)) * n
	return size / max(integratedTime(rho, length), 1/math.Log10(size))
}

// integratedTime sums ρ over Geyer's initial monotone sequence of pairs.
func integratedTime(rho func(t int) float64, n int) float64 {
	even, odd := 1.0, rho(1)
	previous := math.Inf(1) // the last pair's sum, made monotone
	pair := even + odd
	sum := 0.0
	t := 0
	for ; t < n-5 && even+odd > 0; t += 2 {
		// The pair at t is final once the one after it has been looked at.
		previous = min(previous, pair)
		sum += previous
		even, odd = rho(t+2), rho(t+3)
		pair = even + odd
	}
	if t == 0 {
		// No pair at all: R's rho[1:0] takes ρ(0) twice.
		return 2
	}
	if even <= 0 && pair < 0 {
		even = 0
	}
	return -1 + 2*sum + even
}

// rhat is the larger of the R-hats of the normal scores of the draws (do
// the chains agree on location?) and of their distances from the median (on
// scale?), each on split chains: Vehtari et al. (2021), section 4.1.
func (c *column) rhat() float64 {
	if c.nan || c.half() < 2 {
		return math.NaN()
	}
	median := c.quantile(0.5)
	if math.IsInf(median, 0) || math.IsNaN(median) {
		return math.NaN()
	}
	c.rank()
	bulk := c.reduction()
	c.rankFolded(median)
	tail := c.reduction()
	if math.IsNaN(bulk) || math.IsNaN(tail) {
		return math.NaN()
	}
	return max(bulk, tail)
}

// reduction is the potential scale reduction of the series, N draws in each
// split chain (Gelman and Rubin 1992; Vehtari et al. 2021, equations 1–4):
//
//	B = N·var(chain means),  W = mean(chain variances),
//	R̂ = √((B/W + N − 1) / N).
func (c *column) reduction() float64 {
	low, high := extremes(c.series)
	if high-low < constantRange {
		return math.NaN()
	}
	half := c.half()
	n := float64(half)
	var within float64
	for k, m := range c.means {
		within += variance(c.series[k*half:(k+1)*half], m)
	}
	within /= float64(len(c.means))
	between := n * variance(c.means, mean(c.means))
	return math.Sqrt((between/within + n - 1) / n)
}

// mcseMean is sd / √ESS(mean).
func (c *column) mcseMean() float64 {
	return math.Sqrt(variance(c.x, c.mean) / c.essMean())
}

// mcseSD is the delta method's error of the standard deviation s, from that
// of the variance: with m_k the central moments,
//
//	Var(s) ≈ (m₄ − m₂²) / (4 m₂ ESS(mean of (x − x̄)²)).
//
// No normality is assumed.
func (c *column) mcseSD() float64 {
	ess := c.essOf(func(x float64) float64 { return (x - c.mean) * (x - c.mean) })
	var m2, m4 float64
	for _, x := range c.x {
		d := (x - c.mean) * (x - c.mean)
		m2 += d
		m4 += d * d
	}
	m2 /= float64(len(c.x))
	m4 /= float64(len(c.x))
	return math.Sqrt((m4 - m2*m2) / ess / m2 / 4)
}

// mcseQuantile is half the distance of the order statistics between which
// the quantile lies with the probability of ±1 standard deviation: the
// number of draws below it is binomial of size ESS, so its rank is
// S·Beta(ESS p + 1, ESS (1−p) + 1) (Vehtari et al. 2021, section 4.4).
func (c *column) mcseQuantile(p float64) float64 {
	ess := c.essQuantile(p)
	if math.IsNaN(ess) {
		return math.NaN()
	}
	const below, above = 0.1586553, 0.8413447 // Φ(∓1), R's digits
	a, b, size := ess*p+1, ess*(1-p)+1, float64(len(c.sorted))
	low := math.Floor(mathext.InvRegIncBeta(a, b, below) * size)
	high := math.Ceil(mathext.InvRegIncBeta(a, b, above) * size)
	return (c.sorted[int(min(high, size))-1] - c.sorted[int(max(low, 1))-1]) / 2
}

// autocovariance is the mean over chains of
//
//	γ̂(t) = (1/N) Σ_i (x_i − x̄)(x_{i+t} − x̄),   0 ≤ t < N,
//
// computed when asked for. Chains that mix well are done after a few lags,
// which are plain dot products; the first lag at or above directLags brings
// in the Fourier transform for all of them.
type autocovariance struct {
	centred []float64 // chain after chain, each about its own mean
	chains  int
	n       int
	lags    []float64
	known   int // lags[:known] are computed

	transform *fourier.FFT
	padded    []float64
	spectrum  []complex128
	power     []complex128
}

// directLags is about where a dot product for each lag has cost as much as
// the transforms do, at 1,000 to 10,000 draws; so at worst twice the cheaper
// way is spent.
const directLags = 128

// reset takes over x, chains × n, centring it in place; means are the
// chains'.
func (a *autocovariance) reset(x, means []float64) {
	a.centred, a.chains, a.n = x, len(means), len(x)/len(means)
	a.lags, a.known = resize(a.lags, a.n), 0
	for c, m := range means {
		floats.AddConst(-m, x[c*a.n:(c+1)*a.n])
	}
}

// at returns γ̂(t).
func (a *autocovariance) at(t int) float64 {
	for t >= a.known {
		if a.known == directLags {
			a.fourier()
			break
		}
		a.lags[a.known] = a.direct(a.known)
		a.known++
	}
	return a.lags[t]
}

func (a *autocovariance) direct(t int) float64 {
	var sum float64
	for c := range a.chains {
		x := a.centred[c*a.n : (c+1)*a.n]
		sum += floats.Dot(x[:a.n-t], x[t:])
	}
	return sum / float64(a.chains*a.n)
}

// fourier computes the lags that are not known from the power spectrum: by
// the theorem of Wiener and Khinchin the autocovariance of the chain, padded
// with at least n−1 zeros, is the inverse transform of |x̂|². Transforms are
// linear, so spectra are summed over chains and inverted once.
func (a *autocovariance) fourier() {
	size := transformSize(2*a.n - 1)
	if a.transform == nil || a.transform.Len() != size {
		a.transform = fourier.NewFFT(size)
		a.padded = make([]float64, size)
		a.spectrum = make([]complex128, size/2+1)
		a.power = make([]complex128, size/2+1)
	}
	clear(a.power)
	for c := range a.chains {
		copy(a.padded, a.centred[c*a.n:(c+1)*a.n])
		clear(a.padded[a.n:])
		for k, z := range a.transform.Coefficients(a.spectrum, a.padded) {
			a.power[k] += complex(real(z)*real(z)+imag(z)*imag(z), 0)
		}
	}
	sums := a.transform.Sequence(a.padded, a.power)
	scale := 1 / (float64(size) * float64(a.chains) * float64(a.n))
	for t := a.known; t < a.n; t++ {
		a.lags[t] = sums[t] * scale
	}
	a.known = a.n
}

// transformSize returns the smallest 2^a or 3·2^a, even, that is at least n:
// fourier is no faster at the sizes between.
func transformSize(n int) int {
	two, three := 2, 6
	for two < n {
		two *= 2
	}
	for three < n {
		three *= 2
	}
	return min(two, three)
}
