package pvi

import (
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

func TestFamilies(t *testing.T) {
	diagonal, full := Family{Dim: 2}, Family{Dim: 2, Full: true}
	mean, covariance, err := full.Moments([]float64{1, 0, 2, 1, 2}) // Λ = [2 1; 1 2], Λ⁻¹ = [2 −1; −1 2]/3
	must.Do(t, err)
	must.Near(t, "mean", mean[0], 2./3, 1e-15)
	must.Near(t, "mean", mean[1], -1./3, 1e-15)
	must.Near(t, "covariance", covariance.At(0, 1), -1./3, 1e-15)
	for _, law := range [][]float64{{0, 0, 1, 2, 1}, {0, 0, -1, 0, 1}, {math.NaN(), 0, 1, 0, 1}, {0, 0, math.Inf(1), 0, 1}} {
		if full.Proper(law) {
			t.Errorf("%v is no law", law)
		}
		if _, _, err := full.Moments(law); err == nil {
			t.Errorf("moments of %v", law)
		}
	}
	if diagonal.Proper([]float64{0, 0, 1, 0}) || !diagonal.Proper(diagonal.Isotropic(3)) || !full.Proper(full.Isotropic(3)) {
		t.Error("diagonal laws")
	}
}
