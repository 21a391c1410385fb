package accounting

import "math"

// grid is a circle of n points of a lattice, wide enough for a window.
type grid struct {
	window
	step float64
	n    int
}

// grid has the given step, or a smaller one that has atoms at ±span/2 on the lattice,
// or a larger one where memory would not do: there atoms lie beside it.
func (d *direction) grid(w window, step float64) grid {
	least := math.Max(2*w.distance/maxSize, d.widest/(maxSize/2))
	step = math.Max(step, least)
	if span := d.pair.span(); span > 0 {
		if aligned := span / 2 / math.Ceil(span/2/step); aligned >= least/2 {
			step = aligned
		}
	}
	return grid{w, step, smooth(2 * w.distance / step)}
}

// smooth is the next even number whose factors are small, out of several to a doubling.
func smooth(least float64) int {
	for n := 16; ; n *= 2 {
		for _, m := range []int{16, 18, 20, 24, 27, 30} {
			if float64(n*m) >= least {
				return n * m
			}
		}
	}
}
