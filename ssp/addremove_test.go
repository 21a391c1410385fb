package ssp

import (
	"context"
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

// An add-remove release has a noisy count of the statistics' scale, and says so;
// it comes of no rows as of one, since an error would tell them apart.
func TestPublishAddRemove(t *testing.T) {
	for _, rows := range [][][]float64{{}, {{1, 1}}, {{0.5, -1}, {1, 1}}} {
		a := NewAccumulator(2)
		for _, row := range rows {
			must.Do(t, a.Add(row))
		}
		pr := release.Privacy{Epsilon: 0.5, Neighbours: release.AddRemove}
		r, err := Publish(context.Background(), a.Statistics(), testDesign(2), pr, release.Laplace, Exact, seeded(1))
		if err != nil {
			t.Fatalf("%d rows: %v", len(rows), err)
		}
		if r.NNoise != 12 || r.Noise.Scale != 12 || r.Noise.Sensitivity != 6 {
			t.Errorf("%d rows: noise %+v, on n %v; want scale (1+2+3)/0.5", len(rows), r.Noise, r.NNoise)
		}
	}
}

// TestNoiseOnCount: the noise on n has its law's mean absolute value, b for
// Laplace noise (its standard deviation is b) and σ√(2/π) for Gaussian (σ√(1−2/π)).
// Bounds of 4.4 standard errors: false alarms of 2e-5 in all.
func TestNoiseOnCount(t *testing.T) {
	const n = 4000
	a := NewAccumulator(2)
	for range 1000 {
		must.Do(t, a.Add([]float64{0.25, 0.5}))
	}
	s, e := a.Statistics(), seeded(2)
	for kind, c := range map[release.Kind]struct{ delta, mean, sd float64 }{
		release.Laplace:  {0, 1, 1},
		release.Gaussian: {1e-6, math.Sqrt(2 / math.Pi), math.Sqrt(1 - 2/math.Pi)},
	} {
		pr := release.Privacy{Epsilon: 0.1, Delta: c.delta, Neighbours: release.AddRemove}
		sum, scale := 0.0, 0.0
		for range n {
			r := must.Get(Publish(context.Background(), s, testDesign(2), pr, kind, Exact, e))(t)
			sum += math.Abs(float64(r.N - 1000))
			scale = r.NNoise
		}
		mean := sum / n / scale
		if tolerance := 4.4*c.sd/math.Sqrt(n) + 1/(12*scale*scale); math.Abs(mean-c.mean) > tolerance {
			t.Errorf("%s: the noise on n has mean size %.4f of its scale, want %.4f ± %.4f", kind, mean, c.mean, tolerance)
		}
	}
}
