package posterior

import (
	"fmt"
	"math"
)

// column is one parameter under study. It owns every buffer, so that the
// parameters of a run are studied one after another without allocation.
type column struct {
	x      []float64 // all draws, chain after chain
	chains int
	n      int // draws of a chain

	nan      bool // a draw is NaN
	finite   bool // no draw is NaN or infinite
	constant bool // see constantRange
	mean     float64

	places []int32   // of each draw in the series, -1 for a middle draw
	sorted []float64 // the draws in increasing order
	order  []placed  // the memory of halves
	halves []placed  // likewise, those of the split chains, placed in the series
	folded []placed  // likewise, their distances from the median

	scores normalScores
	series []float64 // what is split and examined: split chain after split chain
	means  []float64 // of the split chains
	acov   autocovariance
	ones   indicator
}

// load takes chains of equal lengths.
func (c *column) load(chains [][]float64) {
	c.shape(len(chains), length(chains))
	for i, chain := range chains {
		copy(c.x[i*c.n:], chain)
	}
	c.inspect()
}

// loadFrom takes parameter j of d.
func (c *column) loadFrom(d *Draws, j int) {
	c.shape(d.NumChains(), d.NumDraws())
	for i := range c.chains {
		d.copyColumn(c.x[i*c.n:(i+1)*c.n], i, j)
	}
	c.inspect()
}

// length returns the common length of the chains and panics if there is
// none.
func length(chains [][]float64) int {
	if len(chains) == 0 {
		return 0
	}
	for _, chain := range chains[1:] {
		if len(chain) != len(chains[0]) {
			panic(fmt.Sprintf("posterior: chains of %d and %d draws", len(chains[0]), len(chain)))
		}
	}
	return len(chains[0])
}

func (c *column) shape(chains, n int) {
	c.sorted = c.sorted[:0]
	if c.chains == chains && c.n == n {
		return
	}
	c.chains, c.n = chains, n
	c.x = resize(c.x, chains*n)
	c.places = resize(c.places, chains*n)
	c.locate()
	c.series = resize(c.series, 2*chains*c.half())
	c.means = resize(c.means, 2*chains)
}

func (c *column) inspect() {
	low, high := extremes(c.x)
	c.nan = math.IsNaN(low)
	c.finite = !c.nan && !math.IsInf(low, 0) && !math.IsInf(high, 0)
	c.constant = high-low < constantRange
	c.mean = mean(c.x)
}

// half is the length of the split chains: an odd chain loses its middle.
func (c *column) half() int { return c.n / 2 }

// locate fills places: the series is split chain after split chain.
func (c *column) locate() {
	half, next := c.half(), int32(0)
	for i := range c.places {
		at := i % c.n
		if at >= half && at < c.n-half {
			c.places[i] = -1
			continue
		}
		c.places[i] = next
		next++
	}
}

// split writes f of every draw to the series and finds the means.
func (c *column) split(f func(x float64) float64) {
	half := c.half()
	for chain := range c.chains {
		x := c.x[chain*c.n : (chain+1)*c.n]
		first := c.series[2*chain*half : (2*chain+1)*half]
		second := c.series[(2*chain+1)*half : (2*chain+2)*half]
		for i := range first {
			first[i], second[i] = f(x[i]), f(x[c.n-half+i])
		}
	}
	c.average()
}

// average finds the means of the split chains in the series.
func (c *column) average() {
	half := c.half()
	for k := range c.means {
		c.means[k] = mean(c.series[k*half : (k+1)*half])
	}
}

// sort orders the draws once; none may be NaN.
func (c *column) sort() {
	if len(c.sorted) == len(c.x) {
		return
	}
	c.order = order(c.order, c.x)
	c.sorted = resize(c.sorted, len(c.order))
	c.halves = c.order[:0]
	for i, item := range c.order {
		c.sorted[i] = item.value
		if item.place = c.places[item.place]; item.place >= 0 {
			c.halves = append(c.halves, item)
		}
	}
}

// quantile returns the p-quantile of all draws, NaN where one is NaN.
func (c *column) quantile(p float64) float64 {
	if c.nan {
		return math.NaN()
	}
	c.sort()
	return Quantile(c.sorted, p)
}

// rank puts the normal scores of the draws into the series.
func (c *column) rank() {
	c.sort()
	c.scores.write(c.series, c.halves)
	c.average()
}

// rankFolded puts the normal scores of the distances from the median into
// the series; the median must be finite.
func (c *column) rankFolded(median float64) {
	c.folded = resize(c.folded, len(c.halves))
	fold(c.folded, c.halves, median)
	c.scores.write(c.series, c.folded)
	c.average()
}

// resize returns a slice of length n, in s's memory where it fits.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
