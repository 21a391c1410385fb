package ssp

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// many has one merged so many times, by doubling.
func many[A any](t *testing.T, all, one A, merge func(a, b A) error, times int64) A {
	t.Helper()
	var err error
	for ; times > 0 && err == nil; times >>= 1 {
		if times&1 == 1 {
			err = merge(all, one)
		}
		if err == nil && times > 1 {
			err = merge(one, one)
		}
	}
	must.Do(t, err)
	return all
}

// MaxRows rows at a corner of the box have the largest sums there can be: they come out
// exactly, are encoded, taken from elsewhere and published; one row more is refused.
func TestMaxRows(t *testing.T) {
	row := []float64{1, -1}
	first := NewAccumulator(2)
	must.Do(t, first.Add(row))
	a := many(t, NewAccumulator(2), first, func(a, b *Accumulator) error { return a.Merge(b) }, MaxRows)
	one := new(big.Int).Lsh(big.NewInt(MaxRows), 2*LatticeBits)
	minus := new(big.Int).Neg(one)
	want := []*big.Int{one, minus, one, minus, one}
	s := a.Statistics()
	if s.N != MaxRows || !equalInts(s.BigInts(), want) {
		t.Fatalf("%d rows: %v", s.N, s.BigInts())
	}
	if a.Add(row) == nil || a.Merge(NewAccumulator(2)) != nil || !equalInts(a.Statistics().BigInts(), want) {
		t.Error("one row more is taken, or changes the sums")
	}
	b := NewAccumulator(2)
	if err := b.UnmarshalBinary(encoded(t, a)); err != nil || !equalInts(b.Statistics().BigInts(), want) {
		t.Errorf("encoded: %v, error %v", b.Statistics().BigInts(), err)
	}
	if elsewhere, err := StatisticsOf(2, MaxRows, want); err != nil || !equalInts(elsewhere.BigInts(), want) {
		t.Errorf("summed elsewhere: error %v", err)
	}
	d := &schema.Design{Intercept: true, Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}, Response: schema.Column{Name: "y", Lower: -1, Upper: 1}}
	for _, neighbours := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		// Noise of scale 6e-12 and less is below half a unit in the last place of 1e12.
		privacy := release.Privacy{Epsilon: MaxEpsilon, Neighbours: neighbours}
		r := must.Get(Publish(t.Context(), s, d, privacy, release.Laplace, Exact, mechanisms.Simulated(rand.New(rand.NewPCG(1, 1)))))(t)
		for i, v := range r.Statistics.Vector() {
			if sign := float64(want[i].Sign()); r.N != MaxRows || v != sign*MaxRows {
				t.Errorf("%s: sum %d of %d rows is %v", neighbours, i+1, r.N, v)
			}
		}
	}
}

// Their products of degree 4 are the largest sums of all.
func TestMaxRowsMoments(t *testing.T) {
	row := []float64{-1}
	first := NewMomentAccumulator(1)
	must.Do(t, first.Add(row))
	a := many(t, NewMomentAccumulator(1), first, (*MomentAccumulator).Merge, MaxRows)
	one := new(big.Int).Lsh(big.NewInt(MaxRows), momentBits)
	want := []*big.Int{new(big.Int).Neg(one), one}
	if got := a; got.N() != MaxRows || !equalInts(got.BigInts(), want) {
		t.Errorf("%d rows: %v", got.N(), got.BigInts())
	}
	if a.Add(row) == nil {
		t.Error("one row more is taken")
	}
}
