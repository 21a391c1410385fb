package ssp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// levelled is a layout of sums within levels of m numeric columns in [−1, 1], their products pooled or for every level.
type levelled struct {
	levels, m int
	perLevel  bool
}

// row is t(l, v) of docs/sensitivity.md, entry by entry.
func (s levelled) row(level int, v []float64) (t []float64) {
	cells := func(x float64) {
		block := make([]float64, s.levels)
		block[level] = x
		t = append(t, block...)
	}
	if cells(1); s.levels == 2 {
		t = t[1:] // n is public
	}
	for j := range v {
		cells(v[j])
	}
	for j := range v {
		for k := range j + 1 {
			if s.perLevel {
				cells(v[j] * v[k])
			} else {
				t = append(t, v[j]*v[k])
			}
		}
	}
	return t
}

// replaced returns the L1 and the squared L2 distance of two rows of the first level and of another, or the first.
func (s levelled) replaced(other int, v, w []float64) (l1, squared float64) {
	a, b := s.row(0, v), s.row(other, w)
	for i := range a {
		l1 += math.Abs(a[i] - b[i])
		squared += (a[i] - b[i]) * (a[i] - b[i])
	}
	return l1, squared
}

// counts is K.
func (s levelled) counts() float64 { return float64(min(2, s.levels-1)) }

// The closed forms of docs/sensitivity.md.
func (s levelled) l1() float64 {
	m := float64(s.m)
	if s.perLevel {
		return s.counts() + m*(m+3)
	}
	sum, size, square := 0., 0., 0.
	for _, u := range s.worst() {
		sum, size, square = sum+u, size+math.Abs(u), square+u*u
	}
	return s.counts() + m + size + m*(m+1)/2 - (sum*sum+square)/2
}

// worst is the second row, where the first is all ones.
func (s levelled) worst() []float64 {
	w := make([]float64, s.m)
	negative := s.m / 2
	for j := range w {
		w[j] = -1
		if j >= negative {
			w[j] = min(1, float64(1+negative)/float64(s.m-negative+1))
		}
	}
	return w
}

func (s levelled) squaredL2() (best float64) {
	m := float64(s.m)
	if s.perLevel {
		return s.l1()
	}
	for r := 0.; r <= m; r++ {
		best = max(best, s.counts()+2*m+4*r*(m-r), 4*r*(1+m-r))
	}
	return best
}

// layouts are those that are searched; the short form has fewer.
func layouts(short bool) (all []levelled) {
	for m := 1; m <= 4; m++ {
		for levels := 2; levels <= 3 && !(short && m > 2); levels++ {
			all = append(all, levelled{levels, m, false}, levelled{levels, m, true})
		}
	}
	return all
}

func TestSearchNeverBeatsLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, s := range layouts(testing.Short()) {
		foundL1, foundSquared := 0., 0.
		for other := range 2 {
			foundL1 = max(foundL1, search(rng, s.m, true, func(v, w []float64) float64 { l1, _ := s.replaced(other, v, w); return l1 }))
			foundSquared = max(foundSquared, search(rng, s.m, true, func(v, w []float64) float64 { _, q := s.replaced(other, v, w); return q }))
		}
		for _, c := range []struct {
			name         string
			found, claim float64
		}{{"L1", foundL1, s.l1()}, {"squared L2", foundSquared, s.squaredL2()}} {
			if c.found > c.claim*(1+1e-12) || c.found < 0.99*c.claim {
				t.Errorf("%+v, %s: found %v, claimed %v", s, c.name, c.found, c.claim)
			}
		}
	}
}

// Fifty levels cost what three do, and two a count less; the maximum in L1 is attained.
func TestLevelMaxima(t *testing.T) {
	for _, c := range []struct {
		layout      levelled
		l1, squared float64
	}{
		{levelled{2, 2, false}, 7, 9},
		{levelled{3, 2, false}, 8, 10},
		{levelled{50, 2, false}, 8, 10},
		{levelled{50, 2, true}, 12, 12},
		{levelled{5, 1, false}, 4.25, 4},
	} {
		if c.layout.l1() != c.l1 || c.layout.squaredL2() != c.squared {
			t.Errorf("%+v: L1 %v, squared L2 %v; want %v, %v", c.layout, c.layout.l1(), c.layout.squaredL2(), c.l1, c.squared)
		}
	}
	for m := 1; m <= 12; m++ {
		s := levelled{3, m, false}
		if l1, _ := s.replaced(1, slices.Repeat([]float64{1}, m), s.worst()); math.Abs(l1-s.l1()) > 1e-12*l1 {
			t.Errorf("%+v: L1 attains %v, claimed %v", s, l1, s.l1())
		}
	}
}

// With one row more or less, every cell that a row is counted in is at most 1.
func TestLevelsAddRemove(t *testing.T) {
	for _, s := range layouts(false) {
		if s.levels == 2 {
			continue // n is not public, and no count is left out
		}
		sum := 0.
		for _, x := range s.row(0, slices.Repeat([]float64{1}, s.m)) {
			sum += x
		}
		if want := 1 + s.m + s.m*(s.m+1)/2; sum != float64(want) {
			t.Errorf("%+v: a row of ones has norm %v, claimed %d", s, sum, want)
		}
	}
}
