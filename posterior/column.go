package posterior

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// Column is one parameter under study. It owns every buffer, so that the
// parameters of a run are studied one after another without allocation.
type Column struct {
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

	scores []float64 // normal ones, of the whole ranks from 1
	series []float64 // what is split and examined: split chain after split chain
	means  []float64 // of the split chains
	acov   autocovariance
}

// loadFrom takes parameter j of d.
func (c *Column) loadFrom(d *Draws, j int) {
	c.shape(d.NumChains(), d.NumDraws())
	for i := range c.chains {
		d.copyColumn(c.x[i*c.n:(i+1)*c.n], i, j)
	}
	low, high := extremes(c.x)
	c.nan = math.IsNaN(low)
	c.finite = !c.nan && !math.IsInf(low, 0) && !math.IsInf(high, 0)
	c.constant = high-low < constantRange
	c.mean = mean(c.x)
}

func (c *Column) shape(chains, n int) {
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

// half is the length of the split chains: an odd chain loses its middle.
func (c *Column) half() int { return c.n / 2 }

// locate fills places: the series is split chain after split chain.
func (c *Column) locate() {
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
func (c *Column) split(f func(x float64) float64) {
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
func (c *Column) average() {
	half := c.half()
	for k := range c.means {
		c.means[k] = mean(c.series[k*half : (k+1)*half])
	}
}

// sort orders the draws once; none may be NaN.
func (c *Column) sort() {
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
func (c *Column) quantile(p float64) float64 {
	if c.nan {
		return math.NaN()
	}
	c.sort()
	return Quantile(c.sorted, p)
}

// rank puts the normal scores of the draws into the series.
func (c *Column) rank() {
	c.sort()
	c.score(c.halves)
}

// rankFolded puts the normal scores of the distances from the median into
// the series; the median must be finite. Distances grow from the median on either
// side: two runs that are in order are merged.
func (c *Column) rankFolded(median float64) {
	above := sort.Search(len(c.halves), func(i int) bool { return c.halves[i].value >= median })
	below := above - 1
	c.folded = c.folded[:0]
	for range c.halves {
		var item placed
		if above == len(c.halves) || below >= 0 && median-c.halves[below].value < c.halves[above].value-median {
			item = c.halves[below]
			below--
		} else {
			item = c.halves[above]
			above++
		}
		c.folded = append(c.folded, placed{math.Abs(item.value - median), item.place})
	}
	c.score(c.folded)
}

// resize returns a slice of length n, in s's memory where it fits.
func resize[T any](s []T, n int) []T {
	return slices.Grow(s[:0], n)[:n]
}

// placed is a value and its place before sorting.
type placed struct {
	value float64
	place int32
}

// order returns the values of x, none of them NaN, in increasing order, each with its
// place in x, in items' memory where they fit. -0 becomes 0.
func order(items []placed, x []float64) []placed {
	items = resize(items, len(x))
	for i, v := range x {
		items[i] = placed{v + 0, int32(i)}
	}
	slices.SortFunc(items, func(a, b placed) int { return cmp.Compare(a.value, b.value) })
	return items
}

// normalScore is the standard normal quantile of a rank r among S (Vehtari et al. 2021, equation 14; Blom 1958),
//
//	z = Φ⁻¹((r − 3/8) / (S + 1/4)).
func normalScore(rank float64, size int) float64 {
	return mathext.NormalQuantile((rank - 0.375) / (float64(size) + 0.25))
}

// score puts the normal scores of sorted items into the series, tied ones sharing that of their average rank.
func (c *Column) score(items []placed) {
	if len(c.scores) != len(items) {
		c.scores = resize(c.scores, len(items))
		for i := range c.scores {
			c.scores[i] = normalScore(float64(i+1), len(items))
		}
	}
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && items[to].value == items[from].value {
			to++
		}
		score := c.scores[from]
		if ties := to - from; ties > 1 {
			score = normalScore(float64(from+1)+float64(ties-1)/2, len(items))
		}
		for _, item := range items[from:to] {
			c.series[item.place] = score
		}
		from = to
	}
	c.average()
}

// mean returns the average of x, as x₀ plus the average difference from x₀.
// So it is exact for constant x, and constant chains have variance 0 and not
// rounding. Four sums run side by side, for one would wait for each addition.
func mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	first := x[0]
	if math.IsInf(first, 0) {
		first = 0
	}
	var a, b, c, d float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		four := x[i : i+4 : i+4]
		a += four[0] - first
		b += four[1] - first
		c += four[2] - first
		d += four[3] - first
	}
	for ; i < len(x); i++ {
		a += x[i] - first
	}
	return first + (a+b+c+d)/float64(len(x))
}

// variance returns the unbiased variance of x about its mean m, NaN where x
// holds fewer than two values.
func variance(x []float64, m float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	var sum float64
	for _, v := range x {
		d := v - m
		sum += d * d
	}
	return sum / float64(len(x)-1)
}

// constantRange is the range below which values count as constant: ε = 2⁻⁵²,
// an absolute bound, as R's posterior has it.
const constantRange = 0x1p-52

// extremes returns the least and greatest value of x, NaN where one is NaN.
func extremes(x []float64) (low, high float64) {
	if len(x) == 0 {
		return math.Inf(1), math.Inf(-1)
	}
	return slices.Min(x), slices.Max(x)
}

// Quantile returns the p-quantile of sorted, which is in increasing order,
// by Hyndman and Fan's definition 7 (1996, The American Statistician 50(4)),
// R's default: linear interpolation at position (n-1)p. It is NaN where
// sorted is empty or p is not in [0, 1].
func Quantile(sorted []float64, p float64) float64 {
	n := len(sorted)
	if n == 0 || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	position := float64(n-1) * p
	low := int(position)
	value := sorted[low]
	// Equal neighbours are not interpolated, for rounding must not move the
	// quantile off a value that it is compared with.
	if h := position - float64(low); h > 0 && sorted[low+1] != value {
		value = float64((1-h)*value) + float64(h*sorted[low+1])
	}
	return value
}
