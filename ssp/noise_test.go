package ssp

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

// Every entry of a release has noise of its own, of the law and scale that the
// release states: no entry is forgotten, none shares another's draw. A
// Kolmogorov-Smirnov test an entry, at 5e-7 each: √n·D > √(ln(2/5e-7)/2) = 2.76;
// and for each pair the signs' agreement less their disagreement, ± 5.4 √n (7e-8
// each); m = 4 has 14 entries and 91 pairs, so the false alarm is 1.4e-5 a law.
func TestNoiseOfEveryEntry(t *testing.T) {
	for kind, c := range map[release.Kind]struct {
		delta float64
		cdf   func(x float64) float64
	}{
		release.Laplace:  {0, laplaceCDF},
		release.Gaussian: {1e-6, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }},
	} {
		t.Run(string(kind), func(t *testing.T) {
			const releases = 4000
			privacy := pure(1)
			privacy.Delta = c.delta
			noise := noiseOf(t, kind, privacy, releases)
			checkSigns(t, noise)
			limit := 2.76 / math.Sqrt(releases)
			for i, x := range noise {
				if d := distanceTo(x, c.cdf); d > limit {
					t.Errorf("entry %d: distance %.3f from the noise stated, limit %.3f", i, d, limit)
				}
				for j := range x {
					x[j] *= 0.7
				}
				if d := distanceTo(x, c.cdf); d <= limit {
					t.Errorf("entry %d: noise of 0.7 times the scale passes", i)
				}
			}
		})
	}
}

// noiseOf gives for each entry the noise of so many releases, in units of the
// scale that they state.
func noiseOf(t *testing.T, kind release.Kind, privacy release.Privacy, releases int) [][]float64 {
	t.Helper()
	s := testStatistics(t, []float64{1, -1, 0.5, 0}, []float64{0.25, -0.75, 1, 1})
	exact := s.Vector()
	noise := make([][]float64, len(exact))
	e := seeded(17)
	for range releases {
		r := must.Get(Publish(t.Context(), s, testDesign(4), privacy, kind, Exact, e))(t)
		for i, z := range r.Statistics.Vector() {
			noise[i] = append(noise[i], (z-exact[i])/r.Noise.Scale)
		}
	}
	return noise
}

func checkSigns(t *testing.T, noise [][]float64) {
	t.Helper()
	for i, x := range noise {
		for j, y := range noise[:i] {
			agree := 0.0
			for k := range x {
				agree += math.Copysign(1, x[k]) * math.Copysign(1, y[k])
			}
			if math.Abs(agree) > 5.4*math.Sqrt(float64(len(x))) {
				t.Errorf("the signs of entries %d and %d agree %v times more often than not", j, i, agree)
			}
		}
	}
}

// laplaceCDF is the distribution function of the Laplace law of scale 1.
func laplaceCDF(x float64) float64 {
	p := math.Exp(-math.Abs(x)) / 2
	if x > 0 {
		return 1 - p
	}
	return p
}

// distanceTo is must.RootD over √n.
func distanceTo(x []float64, cdf func(float64) float64) float64 {
	return must.RootD(x, cdf) / math.Sqrt(float64(len(x)))
}
