package accounting

import (
	"cmp"
	"math"
)

// ZCDPEpsilon returns an ε for which a ρ-zCDP mechanism (Bun & Steinke, TCC 2016) is (ε,
// delta)-differentially private. Its Rényi divergences are at most ρα, so that with any order
// α > 1 fromRDP has one: the smallest over orders, rounded up. Errors: rho not positive and
// finite, delta not in [MinDelta, 1).
func ZCDPEpsilon(rho, delta float64) (float64, error) {
	if err := cmp.Or(positive("rho", rho), inRange(delta, MinDelta)); err != nil {
		return 0, err
	}
	// In x = log(α − 1) it falls and then rises. Whatever is found, it is a bound.
	at := func(x float64) float64 {
		order := 1 + math.Exp(x)
		return fromRDP(order, rho*order, delta)
	}
	low, high := -20., 40.
	for range 200 {
		a, b := low+(high-low)/3, high-(high-low)/3
		if at(a) <= at(b) {
			high = b
		} else {
			low = a
		}
	}
	return at((low+high)/2) * (1 + 1e-9), nil
}
