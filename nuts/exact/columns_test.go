package exact

import (
	"math"
	"testing"
)

// TestSpread: slopes of spreadOf are its derivatives, it has a normal tail in √V where V is small and is u
// where V is large, and place goes back.
func TestSpread(t *testing.T) {
	const h = 1e-5
	off := func(a, b float64) bool { return math.Abs(a-b) > 1e-5*(1+math.Abs(b)) }
	for _, u := range []float64{-15, -4, -1, -0.1, 0, 0.1, 1, 3, 30} {
		spread, slope, logSlope, bend := spreadOf(u)
		after, _, logAfter, _ := spreadOf(u + h)
		before, _, logBefore, _ := spreadOf(u - h)
		if off(slope, (after-before)/(2*h)) || off(logSlope, math.Log(slope)) || off(bend, (logAfter-logBefore)/(2*h)) {
			t.Errorf("at %g the slope is %g, its logarithm %g and the derivative of that %g", u, slope, logSlope, bend)
		}
		if back := spreadInverse(spread); math.Abs(back-u) > 1e-9 {
			t.Errorf("%g comes back as %g", u, back)
		}
	}
	if tail, _, _, _ := spreadOf(-15); math.Abs(math.Log(tail)/(15*15+15+2)+1) > 0.1 {
		t.Errorf("V is exp(%g) at -15", math.Log(tail))
	}
	for _, large := range []float64{1e3, 1e12} {
		if u := spreadInverse(large); off(u, large) {
			t.Errorf("the coordinate of %g is %g", large, u)
		}
	}
}
