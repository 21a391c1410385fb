package nuts

import (
	"slices"
	"testing"
)

// schedule lists the first iteration of the windows, and the ends of each.
func schedule(warmup int) (first int, ends []int) {
	w := newWindows(warmup)
	first = -1
	for i := range warmup {
		if w.collects(i) && first < 0 {
			first = i
		}
		if w.closes(i) {
			ends = append(ends, i+1)
		}
	}
	return first, ends
}

// Stan's schedules: its windowed_adaptation with buffers of 75 and 50 and a first
// window of 25, or with shares of 15, 75 and 10 per cent below 150.
func TestWindowsAreStans(t *testing.T) {
	for _, c := range []struct {
		warmup, first int
		ends          []int
	}{
		{2000, 75, []int{100, 150, 250, 450, 850, 1950}},
		{1000, 75, []int{100, 150, 250, 450, 950}},
		{500, 75, []int{100, 150, 250, 450}},
		{150, 75, []int{100}}, {149, 22, []int{135}}, {100, 15, []int{90}}, {20, 3, []int{18}},
		{19, -1, nil}, {10, -1, nil}, {0, -1, nil},
	} {
		if first, ends := schedule(c.warmup); first != c.first || !slices.Equal(ends, c.ends) {
			t.Errorf("warm-up %d: from %d, ends %v; Stan has %d, %v", c.warmup, first, ends, c.first, c.ends)
		}
	}
}

// stan is its recursion, in its terms. Where the first window leaves too little
// behind it, from 151 to 199 iterations, Stan lets a second one follow that may be
// a single draw; here the first takes it in.
func stan(warmup int) (ends []int) {
	size, next, last := 25, 75+25-1, warmup-50-1
	for i := range warmup {
		if i != next {
			continue
		}
		ends = append(ends, i+1)
		if next == last {
			break
		}
		size *= 2
		next = i + size
		if next != last && next+2*size >= warmup-50 {
			next = last
		}
	}
	return ends
}

func TestWindowsOfAllLengths(t *testing.T) {
	for warmup := 20; warmup < 3000; warmup++ {
		first, ends := schedule(warmup)
		want := []int{warmup - warmup/10}
		start := int(0.15 * float64(warmup))
		if warmup >= 150 {
			want, start = stan(warmup), 75
		}
		if warmup > 150 && warmup < 200 {
			want = want[1:]
		}
		if first != start || !slices.Equal(ends, want) {
			t.Fatalf("warm-up %d: from %d, ends %v; want %d, %v", warmup, first, ends, start, want)
		}
	}
}
