package posterior

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

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
