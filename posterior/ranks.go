package posterior

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

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

// normalScores replaces values by the standard normal quantiles of their
// ranks among S (Vehtari et al. 2021, equation 14; Blom 1958):
//
//	z = Φ⁻¹((r − 3/8) / (S + 1/4)),
//
// tied values sharing their average rank r.
type normalScores struct {
	table []float64 // z at the whole ranks 1 … S
}

func (s *normalScores) prepare(size int) {
	if len(s.table) == size {
		return
	}
	s.table = resize(s.table, size)
	for i := range s.table {
		s.table[i] = normalScore(float64(i+1), size)
	}
}

func normalScore(rank float64, size int) float64 {
	return mathext.NormalQuantile((rank - 0.375) / (float64(size) + 0.25))
}

// write puts the scores of the sorted items into dst, each at its own place.
func (s *normalScores) write(dst []float64, items []placed) {
	s.prepare(len(items))
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && items[to].value == items[from].value {
			to++
		}
		score := s.table[from]
		if ties := to - from; ties > 1 {
			score = normalScore(float64(from+1)+float64(ties-1)/2, len(items))
		}
		for _, item := range items[from:to] {
			dst[item.place] = score
		}
		from = to
	}
}

// fold merges the sorted items into the order of their distances from
// centre, which is finite, and returns the distances in dst. Values below
// the centre are read downwards and values above it upwards, so both are
// sorted already.
func fold(dst, items []placed, centre float64) {
	above := 0
	for above < len(items) && items[above].value < centre {
		above++
	}
	below := above - 1
	for i := range dst {
		var left, right float64
		if below >= 0 {
			left = centre - items[below].value
		}
		if above < len(items) {
			right = items[above].value - centre
		}
		if above == len(items) || below >= 0 && left < right {
			dst[i] = placed{left, items[below].place}
			below--
		} else {
			dst[i] = placed{right, items[above].place}
			above++
		}
	}
}
