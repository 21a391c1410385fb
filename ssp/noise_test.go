package ssp

import (
	"math"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// Every entry of a release has noise of its own, of the scale that the release
// states: no entry is forgotten, none shares another's draw. A Kolmogorov-Smirnov
// test an entry, at 5e-7 each: √n·D > √(ln(2/5e-7)/2) = 2.76; and for each pair
// the signs' agreement less their disagreement, ± 5.4 √n (7e-8 each); m = 4 has
// 14 entries and 91 pairs, so the false alarm is 1.4e-5.
func TestNoiseOfEveryEntry(t *testing.T) {
	const m, releases = 4, 4000
	s := testStatistics(t, []float64{1, -1, 0.5, 0}, []float64{0.25, -0.75, 1, 1})
	exact := s.Vector()
	noise := make([][]float64, len(exact)) // in units of the stated scale
	e := seeded(17)
	for range releases {
		r, err := Publish(t.Context(), s, testDesign(m), pure(1), release.Laplace, Exact, e)
		if err != nil {
			t.Fatal(err)
		}
		for i, z := range r.Statistics.Vector() {
			noise[i] = append(noise[i], (z-exact[i])/r.Noise.Scale)
		}
	}
	limit := 2.76 / math.Sqrt(releases)
	for i := range noise {
		for j := range i {
			agree := 0.0
			for k := range releases {
				agree += math.Copysign(1, noise[i][k]) * math.Copysign(1, noise[j][k])
			}
			if math.Abs(agree) > 5.4*math.Sqrt(releases) {
				t.Errorf("noise of entries %d and %d agrees %v times more often than not", j, i, agree)
			}
		}
	}
	for i := range noise {
		if d := distanceToLaplace(noise[i], 1); d > limit {
			t.Errorf("entry %d: distance %.3f from Laplace noise of the scale stated, limit %.3f", i, d, limit)
		}
		if d := distanceToLaplace(noise[i], 1/0.7); d <= limit {
			t.Errorf("entry %d: noise of 0.7 times a scale would pass for it", i)
		}
	}
}

// distanceToLaplace is the largest distance between the empirical distribution of
// x, which it sorts, and the Laplace law of this scale.
func distanceToLaplace(x []float64, scale float64) (d float64) {
	slices.Sort(x)
	n := float64(len(x))
	for i, v := range x {
		p := math.Exp(-math.Abs(v)/scale) / 2
		if v > 0 {
			p = 1 - p
		}
		d = max(d, p-float64(i)/n, float64(i+1)/n-p)
	}
	return d
}
