package ssp

import (
	"math"
	"math/rand/v2"
	"testing"
)

// levelled is a layout of sums within levels: F factors of some levels each, m numeric
// columns in [−1, 1], their products pooled or for every level.
type levelled struct {
	factors, levels, m int
	perLevel           bool
}

// row is t(l, v) of docs/sensitivity.md, entry by entry.
func (s levelled) row(level []int, v []float64) (t []float64) {
	cells := func(size, at int, x float64) {
		block := make([]float64, size)
		block[at] = x
		t = append(t, block...)
	}
	if s.factors == 1 {
		cells(s.levels, level[0], 1)
		if s.levels == 2 {
			t = t[1:] // n is public
		}
	}
	for f := range s.factors {
		for g := range f {
			cells(s.levels*s.levels, level[f]*s.levels+level[g], 1)
		}
		for j := range v {
			cells(s.levels, level[f], v[j])
		}
	}
	for j := range v {
		for k := range j + 1 {
			if !s.perLevel {
				t = append(t, v[j]*v[k])
				continue
			}
			for f := range s.factors {
				cells(s.levels, level[f], v[j]*v[k])
			}
		}
	}
	return t
}

// replaced returns the L1 and the squared L2 distance of two rows that differ in the
// levels of the first c factors.
func (s levelled) replaced(c int, v, w []float64) (l1, squared float64) {
	from, to := make([]int, s.factors), make([]int, s.factors)
	for f := range c {
		to[f] = 1
	}
	a, b := s.row(from, v), s.row(to, w)
	for i := range a {
		l1 += math.Abs(a[i] - b[i])
		squared += (a[i] - b[i]) * (a[i] - b[i])
	}
	return l1, squared
}

// The closed forms of docs/sensitivity.md.
func (s levelled) l1() float64 {
	F, m := float64(s.factors), float64(s.m)
	counts := max(2, F*(F-1))
	if s.factors == 1 && s.levels == 2 {
		counts = 1
	}
	if s.perLevel {
		return counts + F*m*(m+3)
	}
	w := s.worst()
	sum, size, square := 0., 0., 0.
	for _, u := range w {
		sum, size, square = sum+u, size+math.Abs(u), square+u*u
	}
	return counts + F*(m+size) + m*(m+1)/2 - (sum*sum+square)/2
}

// worst is the second row, where the first is all ones: ⌊m/2⌋ entries −1, the others
// min(1, (F + ⌊m/2⌋)/(⌈m/2⌉ + 1)).
func (s levelled) worst() []float64 {
	w := make([]float64, s.m)
	negative := s.m / 2
	for j := range w {
		w[j] = -1
		if j >= negative {
			w[j] = min(1, float64(s.factors+negative)/float64(s.m-negative+1))
		}
	}
	return w
}

func (s levelled) squaredL2() float64 {
	best := 0
	for c := range s.factors + 1 {
		counts := c * (2*s.factors - c - 1)
		if s.factors == 1 {
			counts = 2 * c
			if s.levels == 2 {
				counts = c
			}
		}
		for r := range s.m + 1 {
			same, products := s.factors-c, 4*r*(s.m-r)
			if s.perLevel {
				products = same*products + c*s.m*(s.m+1)
			}
			best = max(best, counts+2*c*s.m+4*same*r+products)
		}
	}
	return float64(best)
}

// layouts are those that are searched; the short form has fewer.
func layouts(short bool) (all []levelled) {
	for factors := 1; factors <= 3; factors++ {
		for m := 1; m <= 4; m++ {
			for levels := 2; levels <= 3; levels++ {
				if factors*m > 6 || short && factors*m > 2 {
					continue
				}
				all = append(all, levelled{factors, levels, m, false}, levelled{factors, levels, m, true})
			}
		}
	}
	return all
}

func TestSearchNeverBeatsLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, s := range layouts(testing.Short()) {
		foundL1, foundSquared := 0., 0.
		for c := range s.factors + 1 {
			foundL1 = max(foundL1, search(rng, s.m, true, func(v, w []float64) float64 { l1, _ := s.replaced(c, v, w); return l1 }))
			foundSquared = max(foundSquared, search(rng, s.m, true, func(v, w []float64) float64 { _, q := s.replaced(c, v, w); return q }))
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
		{levelled{1, 2, 2, false}, 7, 9},
		{levelled{1, 3, 2, false}, 8, 10},
		{levelled{1, 50, 2, false}, 8, 10},
		{levelled{1, 50, 2, true}, 12, 12},
		{levelled{1, 5, 1, false}, 4.25, 4},
		{levelled{2, 5, 2, false}, 12, 16},
	} {
		if c.layout.l1() != c.l1 || c.layout.squaredL2() != c.squared {
			t.Errorf("%+v: L1 %v, squared L2 %v; want %v, %v", c.layout, c.layout.l1(), c.layout.squaredL2(), c.l1, c.squared)
		}
	}
	for m := 1; m <= 12; m++ {
		for factors := 1; factors <= 4; factors++ {
			s := levelled{factors, 3, m, false}
			ones := make([]float64, m)
			for j := range ones {
				ones[j] = 1
			}
			if l1, _ := s.replaced(factors, ones, s.worst()); math.Abs(l1-s.l1()) > 1e-12*l1 {
				t.Errorf("%+v: L1 attains %v, claimed %v", s, l1, s.l1())
			}
		}
	}
}

// With one row more or less, every cell that a row is counted in is at most 1.
func TestLevelsAddRemove(t *testing.T) {
	for _, s := range layouts(false) {
		if s.levels == 2 && s.factors == 1 {
			continue // n is not public, and no count is left out
		}
		ones := make([]float64, s.m)
		for j := range ones {
			ones[j] = 1
		}
		sum := 0.
		for _, x := range s.row(make([]int, s.factors), ones) {
			sum += x
		}
		products := s.m * (s.m + 1) / 2
		if s.perLevel {
			products *= s.factors
		}
		if want := max(1, s.factors*(s.factors-1)/2) + s.factors*s.m + products; sum != float64(want) {
			t.Errorf("%+v: a row of ones has norm %v, claimed %d", s, sum, want)
		}
	}
}
