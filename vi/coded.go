package vi

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
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
//
// A batch is gathered from memory in tiles, which both products with it find in the cache.
type coded struct {
	*Sum
	p         int
	k         []float64 // n × p
	scale     []float64
	norm      []float64 // of k
	tile      []float64 // tileRows × p
	eta, a    []float64 // of its rows
	block     []float64
	blockSize int // in rows
}

const (
	codeBits  = 20
	blockRows = 1 << (52 - latticeBits)
	tileRows  = 16
)

// newCoded codes the rows of a model. A row with an entry that is not finite is 0.
func newCoded(l Linear, sum *Sum) *coded {
	p := len(sum.total)
	c := &coded{
		Sum: sum, p: p, k: make([]float64, l.Len()*p), scale: make([]float64, l.Len()), norm: make([]float64, l.Len()),
		tile: make([]float64, tileRows*p), eta: make([]float64, tileRows), a: make([]float64, tileRows), block: make([]float64, p),
	}
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

// add adds slope(i, x_iᵀθ)·x_i, clipped, for every record i of a batch.
func (c *coded) add(batch []int, theta []float64, slope func(i int, eta float64) float64) {
	for len(batch) > 0 {
		rows := batch[:min(tileRows, len(batch))]
		for t, i := range rows {
			copy(c.tile[t*c.p:(t+1)*c.p], c.row(i))
		}
		for t := range rows {
			c.eta[t] = floats.Dot(c.tile[t*c.p:(t+1)*c.p], theta)
		}
		tile := blas64.General{Rows: len(rows), Cols: c.p, Stride: c.p, Data: c.tile}
		for t, i := range rows {
			c.a[t] = c.steps(i, slope(i, c.scale[i]*c.eta[t]))
		}
		if c.blockSize+len(rows) > blockRows {
			c.flush()
		}
		blas64.Gemv(blas.Trans, 1, tile, vector(c.a[:len(rows)]), 1, vector(c.block))
		c.blockSize += len(rows)
		batch = batch[len(rows):]
	}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// steps is the integer a for which a·k_i is slope·x_i, clipped, in steps of the lattice:
// slope·scale·2⁴⁰/clip, or as much as |a·k| ≤ 2⁴⁰ allows, rounded towards 0.
func (c *coded) steps(i int, slope float64) float64 {
	size := math.Abs(slope) * c.scale[i] * c.norm[i]
	if !(size <= math.MaxFloat64 && size > 0 && math.Abs(slope) <= maxScalar) {
		return 0
	}
	return math.Trunc(slope * c.scale[i] * (limit / max(size, c.clip)))
}

func (c *coded) flush() {
	for j, v := range c.block {
		c.total[j] += int64(v)
	}
	clear(c.block)
	c.blockSize = 0
}

// Release implements Summer.
func (c *coded) Release(dst []float64) {
	c.flush()
	c.Sum.Release(dst)
}
