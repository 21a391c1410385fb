package plan

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
)

// Where an outlook says that a release tells of the slopes, it is near what simulated releases
// and their posteriors average, too precise by half at most; where it says next to nothing, so do
// they.
func TestOutlook(t *testing.T) {
	testsize.Full(t, "simulates releases for some ten seconds")
	for _, c := range []struct {
		p        int
		ns       []int64
		epsilons []float64
	}{{1, []int64{100, 300, 3000}, []float64{0.1, 1, 10}}, {3, []int64{100, 3000, 30_000}, []float64{0.3, 3}}} {
		f := must.Get(Foresee(t.Context(), Options{Design: dpreg.UnitDesign(c.p), Pool: true, Ns: c.ns, Epsilons: c.epsilons, Steps: 1, Releases: 4}))(t)
		o := must.Get(NewOutlook(f.Design))(t)
		for _, at := range f.Points {
			got, want := o.HalfWidth(float64(at.N), at.Noise), 1.96*at.Slopes[0].SD
			ratio := got / want
			if got < 0.3 && ratio < 1/1.25 || got < 0.5 && ratio < 1/1.5 || got < 0.5 && ratio > 1.1 || got >= 0.8 && want < 0.8 {
				t.Errorf("p = %d, n = %d, ε = %v: ± %.3g, simulated %.3g", c.p, at.N, at.Epsilon, got, want)
			}
		}
	}
}

// A few columns stand for many.
func TestOutlookWide(t *testing.T) {
	for p, scale := range map[int]float64{60: 3600, 120: 14400} {
		all := must.Get(newOutlook(dpreg.UnitDesign(p), p))(t)
		few := must.Get(NewOutlook(dpreg.UnitDesign(p)))(t)
		for _, n := range []float64{1e2, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9} {
			noise := release.Noise{Kind: release.Gaussian, Scale: scale}
			if got, want := few.HalfWidth(n, noise), all.HalfWidth(n, noise); math.Abs(got/want-1) > 0.05 {
				t.Errorf("p = %d, n = %g: %.3f, of all columns %.3f", p, n, got, want)
			}
		}
	}
	wide, err := NewOutlook(dpreg.UnitDesign(1000))
	if err != nil || len(wide.unit) > outlookCovariates+1 {
		t.Errorf("error %v", err)
	}
}
