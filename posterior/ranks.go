package posterior

import "gonum.org/v1/gonum/mathext"

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
func (s *normalScores) write(dst []float64, items []keyed) {
	s.prepare(len(items))
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && items[to].key == items[from].key {
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
func fold(dst, items []keyed, centre float64) {
	above := 0
	for above < len(items) && keyValue(items[above].key) < centre {
		above++
	}
	below := above - 1
	for i := range dst {
		var left, right float64
		if below >= 0 {
			left = centre - keyValue(items[below].key)
		}
		if above < len(items) {
			right = keyValue(items[above].key) - centre
		}
		if above == len(items) || below >= 0 && left < right {
			dst[i] = keyed{sortKey(left), items[below].place}
			below--
		} else {
			dst[i] = keyed{sortKey(right), items[above].place}
			above++
		}
	}
}
