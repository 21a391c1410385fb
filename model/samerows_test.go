package model

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// TestTogether: normal measurements are one, of all precisions; the law of others is the
// product of theirs, wherever s lies, and its slope the sum.
func TestTogether(t *testing.T) {
	measured := func(kind release.Kind, scale float64, z ...float64) *Observation {
		o := &Observation{Shape: Shape{}, N: 30, Z: z, Kind: kind}
		for range z {
			o.Scale = append(o.Scale, scale)
		}
		return o
	}
	one := Together([]*Observation{measured(release.Gaussian, 2, 3, 5), measured(release.Gaussian, 1, 4, 9)})
	if one.Measurements != nil || !about(one.Z[0], (3+4*4)/5., 1e-12) || !about(one.Z[1], (5+4*9)/5., 1e-12) || !about(one.Scale[1], 2/math.Sqrt(5), 1e-12) {
		t.Errorf("two normal measurements are %+v", one)
	}
	all := []*Observation{measured(release.Laplace, 2, 3, 5), measured(release.Gaussian, 3, 4, 9), measured(release.Laplace, 1, 2, 7)}
	together := NewNoise(Together(all))
	for i := range 2 {
		for s := -20.0; s < 30; s += 0.7 {
			at := []float64{1, 1}
			at[i] = s
			logp, slope := entry(together, i, at)
			sum, slopes := 0.0, 0.0
			for _, m := range all {
				for k, v := range at {
					u := (m.Z[k] - v) / m.Scale[k]
					if m.Kind == release.Laplace {
						sum -= math.Abs(u)
					} else {
						sum -= 0.5 * u * u
					}
				}
				_, g := entry(newNoise(m, 3*len(m.Z)), i, at)
				slopes += g
			}
			if !about(logp, sum, 1e-12) || !about(slope, slopes, 1e-12) {
				t.Errorf("statistic %d at %g: log density %g, slope %g, want %g and %g", i, s, logp, slope, sum, slopes)
			}
		}
	}
}
