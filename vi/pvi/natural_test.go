package pvi

import (
	"math"
	"testing"
)

// A full law with no correlations is a diagonal one.
func TestFamilies(t *testing.T) {
	diagonal, full := Family{Dim: 2}, Family{Dim: 2, Full: true}
	q, p := []float64{1, -2, 4, 0.5}, []float64{0.5, 1, 2, 3}
	spread := func(v []float64) []float64 { return []float64{v[0], v[1], v[2], 0, v[3]} }
	want := must(diagonal.KL(q, p))
	near(t, "KL", must(full.KL(spread(q), spread(p))), want, 1e-12)
	// ½ (v_q/v_p − 1 − log(v_q/v_p) + gap²/v_p)
	near(t, "KL by hand", want, (2./4-1-math.Log(2./4)+2*0.0)/2+(3/.5-1-math.Log(3/.5)+3*math.Pow(-4-1./3, 2))/2, 1e-13)
	mean, covariance, err := full.Moments([]float64{1, 0, 2, 1, 2}) // Λ = [2 1; 1 2], Λ⁻¹ = [2 −1; −1 2]/3
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", mean[0], 2./3, 1e-15)
	near(t, "mean", mean[1], -1./3, 1e-15)
	near(t, "covariance", covariance.At(0, 1), -1./3, 1e-15)
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
	if _, err := diagonal.KL(q, []float64{0, 0, -1, 1}); err == nil {
		t.Error("KL to what is no law")
	}
}
