package dpreg

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// An outlook is near what simulated releases and their posteriors average, and rather below
// it than above: it takes the sums' noise for independent, and the prior for silent on them.
func TestOutlook(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates releases for some ten seconds")
	}
	for _, c := range []struct {
		p        int
		ns       []int64
		epsilons []float64
	}{{1, []int64{32, 300, 3000}, []float64{0.1, 1}}, {3, []int64{32, 3000}, []float64{0.3}}} {
		f, err := Foresee(t.Context(), ForecastOptions{Design: UnitDesign(c.p), Pool: true, Ns: c.ns, Epsilons: c.epsilons, Releases: 40})
		if err != nil {
			t.Fatal(err)
		}
		o, err := NewOutlook(f.Design, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range f.Points {
			got, want := o.Learned(float64(at.N), at.Noise), at.Slopes[0]
			if low, high := got-3*want.LearnedError-0.03, got+3*want.LearnedError+0.15; want.Learned < low || want.Learned > high {
				t.Errorf("p = %d, n = %d, ε = %v: %.3f, simulated %.3f ± %.3f", c.p, at.N, at.Epsilon, got, want.Learned, want.LearnedError)
			}
		}
	}
}

// A few columns stand for many.
func TestOutlookWide(t *testing.T) {
	for p, scale := range map[int]float64{60: 3600, 120: 14400} {
		all, err := newOutlook(UnitDesign(p), nil, p)
		if err != nil {
			t.Fatal(err)
		}
		few, err := NewOutlook(UnitDesign(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []float64{1e2, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9} {
			noise := release.Noise{Kind: release.Gaussian, Scale: scale}
			if got, want := few.Learned(n, noise), all.Learned(n, noise); math.Abs(got-want) > 0.05 {
				t.Errorf("p = %d, n = %g: %.3f, of all columns %.3f", p, n, got, want)
			}
		}
	}
	wide, err := NewOutlook(UnitDesign(1000), nil)
	if err != nil || wide.q > outlookCovariates+1 {
		t.Errorf("error %v", err)
	}
}
