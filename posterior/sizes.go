package posterior

import "math"

// size returns the effective sample size of the series, and uses it up.
func (c *column) size() float64 {
	c.acov.reset(c.series, c.means)
	return effectiveSize(&c.acov, c.half(), c.means)
}

// essBulk examines normal scores, which exist for infinite draws too.
func (c *column) essBulk() float64 {
	if c.nan || c.half() < 3 {
		return math.NaN()
	}
	c.rank()
	if low, high := extremes(c.series); high-low < constantRange {
		return math.NaN()
	}
	return c.size()
}

// essTail is the smaller size at the 5 % and the 95 % quantile.
func (c *column) essTail() float64 {
	return min(c.essQuantile(0.05), c.essQuantile(0.95))
}

// examine puts f of the draws into the series, and tells whether that has
// an effective sample size.
func (c *column) examine(f func(x float64) float64) bool {
	if !c.finite || c.constant || c.half() < 3 {
		return false
	}
	c.split(f)
	low, high := extremes(c.series)
	return high-low >= constantRange
}

// essOf examines f of the draws.
func (c *column) essOf(f func(x float64) float64) float64 {
	if !c.examine(f) {
		return math.NaN()
	}
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
	if !c.examine(below) {
		return math.NaN()
	}
	c.ones.reset(c.series, c.means, &c.acov)
	return effectiveSize(&c.ones, c.half(), c.means)
}
