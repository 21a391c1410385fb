package nuts

import (
	"math"
	"testing"
)

func TestEBFMI(t *testing.T) {
	// Jumps 1, 2, -1: squares 6. About the mean 2.5: 2.25 + 0.25 + 2.25 + 0.25 = 5.
	if got := EBFMI([]float64{1, 2, 4, 3}); math.Abs(got-6.0/5) > 1e-15 {
		t.Errorf("%v, not 6/5", got)
	}
	for _, energy := range [][]float64{nil, {1}, {2, 2, 2}} {
		if got := EBFMI(energy); !math.IsNaN(got) {
			t.Errorf("%v: %v, not NaN", energy, got)
		}
	}
}
