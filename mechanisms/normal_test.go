package mechanisms

import (
	"math"
	"math/rand/v2"
	"testing"
)

func testNormalSampler(seed uint64) *normalSampler {
	return newNormalSampler(Simulated(rand.New(rand.NewPCG(seed, 3))).state, 0)
}

// frequency compares how often trial succeeds with p, ± 4.6 standard deviations
// (4e-6).
func frequency(t *testing.T, what string, p float64, trial func() bool) {
	t.Helper()
	const n = 60000
	hits := 0.0
	for range n {
		if trial() {
			hits++
		}
	}
	if math.Abs(hits-n*p) > 4.6*math.Sqrt(n*p*(1-p)) {
		t.Errorf("%s: %v of %d, want %.0f", what, hits, n, n*p)
	}
}

// The parts of Algorithm N, each with the probability that its comment states; x
// is fixed to its first digits, the others being drawn anew.
func TestNormalParts(t *testing.T) {
	s := testNormalSampler(31)
	frequency(t, "expHalf", math.Exp(-0.5), s.expHalf)
	for k := uint64(0); k <= 3; k++ {
		frequency(t, "geometric", math.Exp(-float64(k)/2), func() bool { return s.geometric() >= k })
		frequency(t, "expHalfAll", math.Exp(-float64(k)*(float64(k)-1)/2), func() bool { return s.expHalfAll(k) })
		for _, first := range []uint64{0, 77, 128, 255} {
			// Over the bits to come, x is uniform on an interval of length 1/256:
			// to 1e-6, the mean of a smooth function of x is its value at the middle.
			x, j := (float64(first)+0.5)/256, float64(k)
			fix := func() { s.x = append(s.x[:0], first) }
			frequency(t, "trial", (2*j+x)/(2*j+2), func() bool { fix(); return s.trial(k) })
			frequency(t, "acceptOnce", math.Exp(-x*(2*j+x)/(2*j+2)), func() bool { fix(); return s.acceptOnce(k) })
			frequency(t, "accept", math.Exp(-x*(2*j+x)/2), func() bool { fix(); return s.accept(k) })
		}
	}
}

// A comparison of two variates is fair, also where first digits agree, and says
// the same again.
func TestFractionLess(t *testing.T) {
	s, deep := testNormalSampler(32), 0
	frequency(t, "less", 0.5, func() bool {
		var f, g fraction
		s.begin(&f)
		less := s.less(&f, &g)
		if s.less(&f, &g) != less || s.less(&g, &f) == less {
			t.Fatal("a comparison changed its mind")
		}
		if len(f) > 1 {
			deep++
		}
		return less
	})
	// 60000/256 = 234 expected, ± 5 standard deviations.
	if deep < 158 || deep > 311 {
		t.Errorf("%d comparisons of 60000 needed a second digit", deep)
	}
}

func TestNormalWipes(t *testing.T) {
	s := testNormalSampler(33)
	for range 50 {
		s.draw()
	}
	s.wipe()
	for _, f := range []fraction{s.x, s.a, s.b, s.r} {
		for _, d := range f[:cap(f)] {
			if d != 0 {
				t.Fatal("digits outlive the call")
			}
		}
	}
}
