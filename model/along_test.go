package model

import (
	"math"
	"testing"
)

// TestAlongSteps: the step that is taken for s does as well as one of 0.02, which has no error but beyond farthest, where
// the closest does; one twice as wide would not.
func TestAlongSteps(t *testing.T) {
	for _, c := range []struct {
		family Family
		most   float64
	}{{Binomial, 1}, {Probit, 1}, {Poisson, 2}, {Poisson, 20}, {Poisson, 100}} {
		right := NewAlong(c.family.Moments(c.most), c.most)
		closest, exact, wider := *right, *right, *right
		closest.grids, exact.grids = right.grids[len(right.grids)-1:], []grid{evenly(0.02)}
		worst, worstWider := 0.0, 0.0
		for s := 0.03; s < 4; s *= 1.25 {
			last, far, farWider := 0.0, 0.0, 0.0
			wider.most = 2 * right.most
			for eta := -6.0; eta < 6; eta += 0.7 {
				for _, a := range []*Along{right, &closest, &exact, &wider} {
					a.Set(eta, s)
				}
				last, far, farWider = max(last, exact.distance(&closest)), max(far, exact.distance(right)), max(farWider, exact.distance(&wider))
			}
			if last < 1e-9 {
				worst, worstWider = max(worst, far), max(worstWider, farWider)
			}
		}
		if !(worst < 5e-9) || !(worstWider > 5e-9) {
			t.Errorf("%s up to %g: moments are off by %.1g, of a wider step by %.1g", c.family, c.most, worst, worstWider)
		}
	}
}

// distance is the largest between moments, over what they are of counts.
func (f *Along) distance(g *Along) (d float64) {
	far := func(a, b []float64) {
		for i, v := range a {
			d = max(d, math.Abs(v-b[i])/(1+math.Abs(v)))
		}
	}
	far(f.M[:], g.M[:])
	far(f.S[:], g.S[:])
	far(f.N[:], g.N[:])
	far(f.NS[:], g.NS[:])
	return d
}
