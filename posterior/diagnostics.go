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

// Of is one quantity, chains[c] its draws in chain c. It panics where chains differ in length.
//
// Its diagnostics are NaN where they mean nothing: a draw is
// NaN, all draws lie within 2⁻⁵² of each other, or half a chain has fewer
// than three draws (two, for RHat). A middle draw of an odd chain is left
// out. Infinite draws have ranks, so RHat and ESSBulk bear them, as long as
// the median is finite; the others are NaN.
func Of(chains [][]float64) *Column {
	for _, chain := range chains {
		if len(chain) != len(chains[0]) {
			panic(fmt.Sprintf("posterior: chains of %d and %d draws", len(chains[0]), len(chain)))
		}
	}
	c := new(Column)
	c.loadFrom(&Draws{Names: []string{"x"}, Chains: chains}, 0)
	return c
}

// MinESS returns the smallest bulk or tail effective sample size over all
// parameters and the index of a parameter that has it. A parameter that is
// the same in every draw of every chain is known, not estimated, and left
// out; any other whose size is NaN counts as 0. Where nothing is left the
// result is 0, -1. Parameters are shared among the given number of
// goroutines, at least one.
func (d *Draws) MinESS(workers int) (ess float64, parameter int) {
	sizes := make([]float64, len(d.Names))
	columns := sync.Pool{New: func() any { return new(Column) }}
	parallel.Each(context.Background(), max(1, workers), len(sizes), nil, func(_ context.Context, j int) error {
		c := columns.Get().(*Column)
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

// minESS is +Inf for a parameter that never moved, and that of the bulk alone where 95 % of the draws are the largest, as of a
// number of rows that noise all but tells: their tails have no size.
func (c *Column) minESS() float64 {
	low, high := extremes(c.x)
	if low == high {
		return math.Inf(1)
	}
	ess := c.ESSBulk()
	if !c.finite || c.quantile(0.05) < high {
		ess = min(ess, c.ESSTail())
	}
	if math.IsNaN(ess) {
		return 0
	}
	return ess
}

// ESSBulk is the effective sample size, over all chains, of the normal scores of the draws,
// which exist for infinite ones too: the efficiency of estimates of location.
func (c *Column) ESSBulk() float64 {
	if c.nan || c.half() < 3 {
		return math.NaN()
	}
	c.rank()
	return c.size()
}

// ESSTail is the smaller of the effective sample sizes of the 5 % and the 95 % quantile.
func (c *Column) ESSTail() float64 {
	return min(c.ESSQuantile(0.05), c.ESSQuantile(0.95))
}

// essOf examines f of the draws.
func (c *Column) essOf(f func(x float64) float64) float64 {
	if !c.finite || c.constant || c.half() < 3 {
		return math.NaN()
	}
	c.split(f)
	return c.size()
}

// ESSMean is the effective sample size of the mean, ESSSD that of the standard deviation.
func (c *Column) ESSMean() float64 {
	return c.essOf(func(x float64) float64 { return x })
}

func (c *Column) ESSSD() float64 {
	return c.essOf(func(x float64) float64 { return math.Abs(x - c.mean) })
}

// ESSQuantile is that of the p-quantile, NaN for p outside [0, 1]. It examines the indicator of {x ≤ q}, q the p-quantile. At p = 1
// that would be constant; R takes the quantile half a draw below.
func (c *Column) ESSQuantile(p float64) float64 {
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

// size returns the effective sample size of the series, of split chains of three draws or more, and uses it up
// (Vehtari et al. 2021, section 3.2). With W the mean within-chain
// variance and V the pooled estimate of the posterior variance,
//
//	ρ̂(t) = 1 − (W − γ̂(t)) / V,   τ̂ = −1 + 2 Σ_t P(t),   ESS = S / τ̂,
//
// where P(t) = ρ̂(2t) + ρ̂(2t+1) is summed while positive and made monotone
// (Geyer 1992, Statistical Science 7(4)). τ̂ is not let below 1/log₁₀ S.
// Pairs and the last, single lag are treated as R's posterior treats them.
// It is NaN for constants, and where a variance overflows.
func (c *Column) size() float64 {
	if low, high := extremes(c.series); high-low < constantRange {
		return math.NaN()
	}
	a := &c.acov
	a.reset(c.series, c.means)
	n := float64(c.half())
	within := a.at(0) * n / (n - 1)
	pooled := a.at(0) + variance(c.means, mean(c.means))
	if !(pooled > 0) || math.IsInf(pooled, 0) {
		return math.NaN()
	}
	rho := func(t int) float64 { return 1 - (within-a.at(t))/pooled }
	size := float64(len(c.means)) * n
	return size / max(integratedTime(rho, c.half()), 1/math.Log10(size))
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

// RHat is the rank-normalised split R-hat; values above 1.01 say that the chains have not mixed. It
// is the larger of the R-hats of the normal scores of the draws (do
// the chains agree on location?) and of their distances from the median (on
// scale?), each on split chains: Vehtari et al. (2021), section 4.1.
func (c *Column) RHat() float64 {
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
	return max(bulk, c.reduction()) // NaN where either is
}

// reduction is the potential scale reduction of the series, N draws in each
// split chain (Gelman and Rubin 1992; Vehtari et al. 2021, equations 1–4):
//
//	B = N·var(chain means),  W = mean(chain variances),
//	R̂ = √((B/W + N − 1) / N).
func (c *Column) reduction() float64 {
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

// MCSEMean is the Monte Carlo standard error of the mean, sd / √ESS(mean).
func (c *Column) MCSEMean() float64 {
	return math.Sqrt(variance(c.x, c.mean) / c.ESSMean())
}

// MCSESD is the delta method's error of the standard deviation s, from that
// of the variance: with m_k the central moments,
//
//	Var(s) ≈ (m₄ − m₂²) / (4 m₂ ESS(mean of (x − x̄)²)).
//
// No normality is assumed.
func (c *Column) MCSESD() float64 {
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

// MCSEQuantile is the error of the p-quantile, NaN for p outside [0, 1]: half the distance of the order statistics between which
// the quantile lies with the probability of ±1 standard deviation: the
// number of draws below it is binomial of size ESS, so its rank is
// S·Beta(ESS p + 1, ESS (1−p) + 1) (Vehtari et al. 2021, section 4.4).
func (c *Column) MCSEQuantile(p float64) float64 {
	ess := c.ESSQuantile(p)
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
