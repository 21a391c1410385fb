package ssp

import (
	"math"
	"slices"
	"testing"
)

// What comes back is what was put in, to half a step of the lattice, whatever
// its sign and magnitude.
func TestFromVector(t *testing.T) {
	v := []float64{0, -1, 0.1, -0.1, 1e9 + 0.3, -1e10, math.Ldexp(1, -41), math.Ldexp(3, -41), -math.Ldexp(1, -40)}
	s, err := FromVector(3, 12345, v)
	if err != nil {
		t.Fatal(err)
	}
	if s.N != 12345 || s.Dim() != 3 {
		t.Errorf("n = %d, m = %d", s.N, s.Dim())
	}
	got := s.Vector()
	for i := range v {
		if !(math.Abs(got[i]-v[i]) <= math.Ldexp(1, -41)) {
			t.Errorf("%v became %v", v[i], got[i])
		}
	}
	if got[6] != 0 || got[7] != math.Ldexp(1, -39) {
		t.Errorf("ties go to %v and %v", got[6], got[7])
	}
	again, err := FromVector(3, 12345, got)
	if err != nil || !slices.Equal(again.sum, s.sum) {
		t.Errorf("lattice points moved: %v", err)
	}
}

// Sums of rows, given as numbers, are those sums.
func TestFromVectorIsTheAccumulator(t *testing.T) {
	a := NewAccumulator(2)
	for i := range 1000 {
		if err := a.Add([]float64{math.Sin(float64(i)), -math.Abs(math.Cos(float64(i)))}); err != nil {
			t.Fatal(err)
		}
	}
	want := a.Statistics()
	got, err := FromVector(2, want.N, want.Vector())
	if err != nil || !slices.Equal(got.sum, want.sum) {
		t.Errorf("%v; %v became %v", err, want.sum, got.sum)
	}
}

func TestFromVectorRefuses(t *testing.T) {
	five := make([]float64, 5)
	for what, c := range map[string]struct {
		n int64
		v []float64
	}{
		"no rows":  {0, five},
		"too many": {MaxRows + 1, five},
		"length":   {10, five[:4]},
		"NaN":      {10, []float64{0, 0, math.NaN(), 0, 0}},
		"infinite": {10, []float64{0, 0, math.Inf(1), 0, 0}},
	} {
		if _, err := FromVector(2, c.n, c.v); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}
