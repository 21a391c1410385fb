package posterior

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// keyed is a value's sort key and its place before sorting.
type keyed struct {
	key   uint64
	place int32
}

const (
	digitBits = 11
	digits    = 3
	radix     = 1 << digitBits
)

// sorter sorts in nearly linear time: chains are long, and an order is
// needed for each parameter at each check. The leading 33 of the bits in
// which the keys differ are sorted by radix, least significant digit first;
// the few keys that agree in those are then sorted by comparison.
type sorter struct {
	items, spare []keyed
	counts       [digits][radix]int32
}

// sort returns the values of x, none of them NaN, in increasing order, each
// with its place in x. The result is valid until the next call.
func (s *sorter) sort(x []float64) []keyed {
	s.items, s.spare = resize(s.items, len(x)), resize(s.spare, len(x))
	s.counts = [digits][radix]int32{}
	least, greatest := uint64(math.MaxUint64), uint64(0)
	for i, v := range x {
		key := sortKey(v)
		s.items[i] = keyed{key, int32(i)}
		least, greatest = min(least, key), max(greatest, key)
	}
	shift := max(0, bits.Len64(greatest-least)-digits*digitBits)
	for _, item := range s.items {
		lead := (item.key - least) >> shift
		for d := range s.counts {
			s.counts[d][lead>>(d*digitBits)&(radix-1)]++
		}
	}
	for d := range s.counts {
		s.pass(d, least, shift)
	}
	s.finish(least, shift)
	return s.items
}

// pass orders the items stably by digit d of (key − least) >> shift.
func (s *sorter) pass(d int, least uint64, shift int) {
	counts := &s.counts[d]
	next := int32(0)
	for i, c := range counts {
		counts[i] = next
		next += c
	}
	shift += d * digitBits
	for _, item := range s.items {
		digit := (item.key - least) >> shift & (radix - 1)
		s.spare[counts[digit]] = item
		counts[digit]++
	}
	s.items, s.spare = s.spare, s.items
}

// finish sorts the items that agree in their leading bits.
func (s *sorter) finish(least uint64, shift int) {
	if shift == 0 {
		return
	}
	for from := 0; from < len(s.items); {
		lead := (s.items[from].key - least) >> shift
		to := from + 1
		for to < len(s.items) && (s.items[to].key-least)>>shift == lead {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(s.items[from:to], func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
		}
		from = to
	}
}

const signBit = 1 << 63

// sortKey maps floats to integers in the same order, -0 together with 0.
func sortKey(v float64) uint64 {
	b := math.Float64bits(v + 0) // -0 + 0 is 0
	if b&signBit != 0 {
		return ^b
	}
	return b | signBit
}

// keyValue is the inverse of sortKey.
func keyValue(key uint64) float64 {
	if key&signBit != 0 {
		return math.Float64frombits(key &^ signBit)
	}
	return math.Float64frombits(^key)
}

// resize returns a slice of length n, in s's memory where it fits.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
