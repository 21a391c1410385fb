package vi

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// coded adds up multiples c·x_i of rows that stay the same, as Sum does, without a
// conversion for each entry. Each row is coded once, in integers k of up to 20 bits,
//
//	x_i = scale_i·k_i,  scale_i = 2^e/2²⁰,  2^e ≥ |x_i|,
//
// rounded towards 0, so that |k_i| ≤ 2²⁰; what is added is a·k_i with an integer a, of
// a norm of at most 2⁴⁰ steps. Products and up to blockRows of their sums are integers
// below 2⁵³: in float64 they are exact, in any order. A row is read as it is coded; the
// difference is at most 2⁻²⁰ of its norm an entry.
type coded struct {
	*Sum
	p     int
	k     []float64 // n × p
	scale []float64
	norm  []float64 // of k
	block []float64
	rows  int // in the block
}

const (
	codeBits  = 20
	blockRows = 1 << (52 - latticeBits)
)

// newCoded codes the rows of a model. A row with an entry that is not finite is 0.
func newCoded(l Linear, sum *Sum) *coded {
	p := len(sum.total)
	c := &coded{Sum: sum, p: p, k: make([]float64, l.Len()*p), scale: make([]float64, l.Len()), norm: make([]float64, l.Len()), block: make([]float64, p)}
	for i := range l.Len() {
		x, k := l.Covariates(i), c.row(i)
		size := norm(x)
		if !(size > minSquared && size <= math.MaxFloat64) {
			continue
		}
		_, e := math.Frexp(size * (1 + 1e-9))
		c.scale[i] = math.Ldexp(1, e-codeBits)
		for j, v := range x {
			k[j] = math.Trunc(v / c.scale[i])
		}
		c.norm[i] = norm(k)
	}
	return c
}

// minSquared is the least norm of which the square does not underflow.
const minSquared = 1e-140

func (c *coded) row(i int) []float64 { return c.k[i*c.p : (i+1)*c.p : (i+1)*c.p] }

// eta is x_iᵀθ.
func (c *coded) eta(i int, theta []float64) float64 {
	return c.scale[i] * floats.Dot(c.row(i), theta)
}

// add adds slope·x_i, clipped: in steps of the lattice it is a·k, where a is
// slope·scale·2⁴⁰/clip, or as much as |a·k| ≤ 2⁴⁰ allows, rounded towards 0.
func (c *coded) add(i int, slope float64) {
	size := math.Abs(slope) * c.scale[i] * c.norm[i]
	if !(size <= math.MaxFloat64 && size > 0 && math.Abs(slope) <= maxScalar) {
		return
	}
	a := math.Trunc(slope * c.scale[i] * (limit / max(size, c.clip)))
	if c.rows == blockRows {
		c.flush()
	}
	floats.AddScaled(c.block, a, c.row(i))
	c.rows++
}

func (c *coded) flush() {
	for j, v := range c.block {
		c.total[j] += int64(v)
	}
	clear(c.block)
	c.rows = 0
}

// Release implements summer.
func (c *coded) Release(dst []float64) {
	c.flush()
	c.Sum.Release(dst)
}
