package posterior

import "math"

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
