package release

import (
	"math"
	"strings"
	"testing"
)

// The bounds are attained: by v = (1,...,1) against v' = 1 - d with
// d = (m+2)/(m+1) everywhere (L1), and by flipping ⌊(m+1)/2⌋ signs (L2).
func TestBoundsAreAttained(t *testing.T) {
	entries := func(v []float64) []float64 {
		e := append([]float64{}, v...)
		for j := range v {
			for k := j; k < len(v); k++ {
				e = append(e, v[j]*v[k])
			}
		}
		return e
	}
	for m := 1; m <= 7; m++ {
		ones, near, flipped := make([]float64, m), make([]float64, m), make([]float64, m)
		for j := range m {
			ones[j], near[j], flipped[j] = 1, 1-float64(m+2)/float64(m+1), 1
			if j < (m+1)/2 {
				flipped[j] = -1
			}
		}
		a, b, c := entries(ones), entries(near), entries(flipped)
		var l1, l2 float64
		for i := range a {
			l1 += math.Abs(a[i] - b[i])
			l2 += (a[i] - c[i]) * (a[i] - c[i])
		}
		if want, _ := boundL1(m, ReplaceOne).Float64(); math.Abs(l1-want) > 1e-12*want {
			t.Errorf("m=%d: L1 %v, bound %v", m, l1, want)
		}
		if want, _ := boundL2Squared(m, ReplaceOne).Float64(); l2 != want {
			t.Errorf("m=%d: L2² %v, bound %v", m, l2, want)
		}
		// Add-remove: a row of ones adds 1 to n and to every entry.
		if want, _ := boundL1(m, AddRemove).Float64(); float64(1+len(a)) != want {
			t.Errorf("m=%d: add-remove L1 %v, bound %v", m, 1+len(a), want)
		}
		if want, _ := boundL2Squared(m, AddRemove).Float64(); float64(1+len(a)) != want {
			t.Errorf("m=%d: add-remove L2² %v, bound %v", m, 1+len(a), want)
		}
	}
}

func TestClaim(t *testing.T) {
	down := func(x float64) float64 { return math.Nextafter(x, 0) }
	const s = 5.333333333333333 // 16/3, rounded down
	for _, c := range []struct {
		name  string
		edit  func(r *Release)
		field string // where the error is; "" if there is none
	}{
		{"as written by hand", func(r *Release) {}, ""},
		{"scale one ulp short", func(r *Release) { r.Noise.Scale = down(s) }, "noise.scale"},
		{"decimals by hand", func(r *Release) { r.Privacy.Epsilon, r.Noise.Scale = 0.1, 53.33333333333333 }, ""},
		{"more noise than needed", func(r *Release) { r.Noise.Scale = 24 }, ""},
		{"the paper's sensitivity", func(r *Release) { r.Noise.Sensitivity, r.Noise.Scale = 24, 24 }, ""},
		{"sensitivity too small", func(r *Release) { r.Noise.Sensitivity = 5.333 }, "noise.sensitivity"},
		{"no sensitivity stated", func(r *Release) { r.Noise.Sensitivity, r.Noise.Scale = 0, 1 }, ""},
		{"no privacy stated", func(r *Release) { r.Privacy, r.Noise.Scale = nil, 1 }, ""},
		{"epsilon not binary", func(r *Release) { r.Privacy.Epsilon, r.Noise.Scale = 0.3, 17.77777777777777 }, "noise.scale"},
		{"gaussian", func(r *Release) {
			r.Noise = Noise{Kind: Gaussian, Scale: 1, Sensitivity: 2.8284271247461903}
			r.Privacy.Delta = 1e-5
		}, ""}, // m = 2: 2√2; whether the scale fits ε and δ is not checked here
		{"gaussian, sensitivity too small", func(r *Release) {
			r.Noise = Noise{Kind: Gaussian, Scale: 1, Sensitivity: 2.8}
			r.Privacy.Delta = 1e-5
		}, "noise.sensitivity"},
		{"gaussian without delta", func(r *Release) { r.Noise = Noise{Kind: Gaussian, Scale: 1} }, "privacy.delta"},
		{"add-remove", func(r *Release) {
			r.Privacy.Neighbours, r.NNoise = AddRemove, 6
			r.Noise.Sensitivity, r.Noise.Scale = 6, 6
		}, ""},
		{"add-remove, less noise on n", func(r *Release) {
			r.Privacy.Neighbours, r.NNoise = AddRemove, 2 // 5/10 + 1/2 = 1
			r.Noise.Sensitivity, r.Noise.Scale = 6, 10
		}, ""},
		{"add-remove, too little noise on n", func(r *Release) {
			r.Privacy.Neighbours, r.NNoise = AddRemove, down(2)
			r.Noise.Sensitivity, r.Noise.Scale = 6, 10
		}, "noise.scale"},
		{"extremes", func(r *Release) { r.Noise.Sensitivity, r.Noise.Scale = math.MaxFloat64, math.MaxFloat64 }, ""},
	} {
		r := example()
		c.edit(r)
		err := r.Validate()
		if (err == nil) != (c.field == "") || err != nil && !strings.HasPrefix(err.Error(), c.field+": ") {
			t.Errorf("%s: error %v, want it at %q", c.name, err, c.field)
		}
	}
}
