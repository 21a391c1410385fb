package model

import (
	"math"
	"testing"
)

// What is no number is none, and ends: a density that meets it refuses the point.
func TestBesselOfNaN(t *testing.T) {
	for _, nu := range []float64{0.5, 1, 1.5, 4} {
		if g, _ := logBesselPower(nu, math.NaN()); !math.IsNaN(g) {
			t.Errorf("ν = %v: %v", nu, g)
		}
	}
}
