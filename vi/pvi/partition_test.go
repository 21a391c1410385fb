package pvi

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// adultClasses are as many records of either class as the training rows of Adult have, up
// to how they fall.
func adultClasses() []float64 {
	y := make([]float64, 39074)
	for i := range y {
		if i%1000 < 239 {
			y[i] = 1
		}
	}
	return y
}

func TestPartition(t *testing.T) {
	y := adultClasses()
	share := 1 - floats.Sum(y)/float64(len(y))
	for name, sizes := range map[string][2]int{"A": {3907, 3907}, "B": {390, 7424}, "C": {1172, 6642}, "D": {1562, 6251}} {
		p := must(WorkshopPartition(name))
		dealt := must(p.Split(y, rand.New(rand.NewPCG(1, 1))))
		seen := make([]bool, len(y))
		for m, records := range dealt {
			if len(records) != sizes[m/5] {
				t.Errorf("%s: client %d has %d records, want %d", name, m, len(records), sizes[m/5])
			}
			negative := 0.
			for _, i := range records {
				if seen[i] {
					t.Fatalf("%s: record %d was dealt twice", name, i)
				}
				seen[i] = true
				negative += 1 - y[i]
			}
			if m < 5 {
				near(t, name+": negatives", negative, math.Floor(float64(sizes[0])*(share+(1-share)*p.Kappa)), 0)
			}
		}
	}
}

func TestPartitionRefuses(t *testing.T) {
	y := adultClasses()
	for _, p := range []Partition{{0, 0, 0}, {3, 0, 0}, {10, 1, 0}, {10, -0.1, 0}, {10, math.NaN(), 0}, {10, 0.9999, 0}, {10, 0, 1.5}, {10, 0, -4}, {10, 0, -3.2}, {10, 0, math.NaN()}, {10, 0, math.Inf(1)}} {
		if _, err := p.Split(y, rand.New(rand.NewPCG(1, 1))); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
	if _, err := (Partition{Clients: 2}).Split([]float64{0, 1, 2, 1}, rand.New(rand.NewPCG(1, 1))); err == nil {
		t.Error("a class of 2: no error")
	}
	if _, err := WorkshopPartition("E"); err == nil {
		t.Error("E: no error")
	}
}
