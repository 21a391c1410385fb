package release

import (
	"reflect"
	"testing"
)

func TestCanonicalOrder(t *testing.T) {
	for m := 1; m <= 6; m++ {
		next := m
		for j := range m {
			for k := j; k < m; k++ {
				if Index(m, j, k) != next || Index(m, k, j) != next {
					t.Errorf("m=%d: pair (%d, %d) at %d and %d, want %d", m, j, k, Index(m, j, k), Index(m, k, j), next)
				}
				next++
			}
		}
		if next != Length(m) {
			t.Errorf("m=%d: length %d, want %d", m, Length(m), next)
		}
	}
}

func TestVector(t *testing.T) {
	yy := 9.0
	s := Statistics{
		SumX: []float64{1, 2}, SumXX: [][]float64{{4, 5}, {5, 7}},
		SumY: 3, SumXY: []float64{6, 8}, SumYY: &yy,
	}
	want := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	v := s.Vector()
	if !reflect.DeepEqual(v, want) {
		t.Errorf("vector %v, want %v", v, want)
	}
	if back := StatisticsFromVector(3, v); !reflect.DeepEqual(back, s) {
		t.Errorf("back %+v, want %+v", back, s)
	}
}

func TestProgrammersMistakesPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"index":  func() { Index(2, 0, 2) },
		"vector": func() { StatisticsFromVector(2, make([]float64, 3)) },
		"blocks": func() { (&Statistics{SumX: []float64{1}}).Vector() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
