package exact

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpreg/dpreg/model"
)

// rowCount is the coordinate of a latent n, the last one:
//
//	n = n₀ + exp(log(N − n₀) + x/w),
//
// n₀ half a row below the least n that the prior allows: continuous n is any number above it, as
// the whole ones from Least on are the nearest to those. Of a public n there is none.
type rowCount struct {
	obs          *model.Observation
	from, perLog float64 // log(N − n₀) and w
}

// newRowCount makes it of about so many rows.
func newRowCount(obs *model.Observation, told float64) *rowCount {
	c := &rowCount{obs: obs}
	if obs.Count.Latent() {
		c.from, c.perLog = math.Log(told-c.least()), math.Max(1, told/obs.Count.Scale)
	}
	return c
}

func (c *rowCount) least() float64 { return c.obs.Count.Least - 0.5 }

// dim is the number of coordinates.
func (c *rowCount) dim() int {
	if c.obs.Count.Latent() {
		return 1
	}
	return 0
}

// of is n at x, and more is n − n₀.
func (c *rowCount) of(x []float64) float64 {
	if c.obs.Count.Latent() {
		return c.least() + math.Exp(c.from+x[len(x)-1]/c.perLog)
	}
	return c.obs.N
}

func (c *rowCount) more(n float64) float64 { return n - c.least() }

// within reports whether the prior allows n.
func (c *rowCount) within(n float64) bool {
	return !c.obs.Count.Latent() || n <= c.obs.Count.Most+0.5
}

// set writes the coordinate of n.
func (c *rowCount) set(x []float64, n float64) {
	if c.obs.Count.Latent() {
		x[len(x)-1] = (math.Log(c.more(n)) - c.from) * c.perLog
	}
}

// pull writes the gradient, of log J = log(n − n₀) too, given that in n.
func (c *rowCount) pull(grad []float64, n, byN float64) {
	if c.obs.Count.Latent() {
		grad[len(grad)-1] = (1 + c.more(n)*byN) / c.perLog
	}
}

// at returns the term at n, and its derivative.
func (g gammaTerm) at(n float64) (value, slope float64) {
	v, _ := math.Lgamma(g.start + 0.5*n)
	return g.sign * v, 0.5 * g.sign * mathext.Digamma(g.start+0.5*n)
}
