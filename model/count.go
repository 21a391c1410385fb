package model

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/release"
)

// MaxRows is the largest number of rows that a latent n may have: the end of
// its flat prior, public and the same for every release.
const MaxRows = 1e12

// Count is what a release says of the number of rows n where its neighbours
// are add-remove: n is noised like a statistic, by discrete noise on the
// integers, and latent. Its prior is flat on {Least, …, Most}.
type Count struct {
	Noisy float64 // the published count, an integer; it may be negative
	Kind  release.Kind
	Scale float64 // of the noise: b or σ; 0 where n is public
	Least float64 // m + 1: fewer rows have no scatter of full rank
	Most  float64 // MaxRows
}

// Latent reports whether n is noised.
func (c *Count) Latent() bool { return c.Scale > 0 }

// LogDensity returns log p(noisy count | n) + log prior, up to a constant; −∞
// outside the prior.
func (c *Count) LogDensity(n float64) float64 {
	if !(n >= c.Least && n <= c.Most) {
		return math.Inf(-1)
	}
	logp, _ := c.logNoise(n)
	return logp
}

// logNoise returns log p(noisy count | n) up to a constant, n any real number, and
// a slope in n as Noise.LogDensity has it. Gaussian noise was rounded to an integer, so
// that its law is the normal one's mass of a cell of length 1.
func (c *Count) logNoise(n float64) (logp, slope float64) {
	r := c.Noisy - n
	u := r / c.Scale
	if c.Kind == release.Laplace {
		return -math.Abs(u), u / (c.Scale * math.Sqrt(u*u+kinkWidth*kinkWidth))
	}
	logp, u = logNormalCell(math.Abs(r), c.Scale)
	return logp, math.Copysign(bend(u, leastReach), r) / c.Scale
}

// logNormalCell returns log P(r − ½ < X < r + ½) for X ~ N(0, σ²), r ≥ 0, and −σ times
// its derivative in r, which is r/σ where σ is large. Where the tail underflows, the
// cell's mass is its density at the inner end times the length σ²/r over which that falls
// off.
func logNormalCell(r, sigma float64) (logp, u float64) {
	inner, outer := (r-0.5)/sigma, (r+0.5)/sigma
	p := 0.5 * (math.Erfc(inner/math.Sqrt2) - math.Erfc(outer/math.Sqrt2))
	if p > 1e-290 {
		fall := math.Exp(-0.5*inner*inner) - math.Exp(-0.5*outer*outer)
		return math.Log(p), fall / (p * math.Sqrt(2*math.Pi))
	}
	return -0.5*inner*inner - math.Log(inner*math.Sqrt(2*math.Pi)) + math.Log(-math.Expm1(-inner/sigma)),
		inner + 1/inner - 1/(sigma*math.Expm1(inner/sigma))
}

// Start draws a number of rows for a chain to start from: the noisy count with
// noise drawn anew, moved into the prior's support.
func (c *Count) Start(rng *rand.Rand) float64 {
	e := rng.NormFloat64()
	if c.Kind == release.Laplace {
		e = math.Copysign(rng.ExpFloat64(), e)
	}
	return math.Min(c.Most, math.Max(c.Least, math.Round(c.Noisy+c.Scale*e)))
}
