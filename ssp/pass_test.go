package ssp

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Passes over the same rows have the same bytes, however rows are divided among processes, and
// what is damaged is refused.
func TestPassIsDivided(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for m := 2; m <= 5; m++ {
		frame := RoundFrame(testFrame(rng, m, 2))
		for _, pass := range []Pass{{Columns: m}, {Columns: m, Frame: frame, Radii: true}, {Columns: m, Frame: frame}, {Columns: m, Frame: frame, Dummies: 2}} {
			var rows []float64
			for _, row := range randomRows(rng, 700, m) {
				if pass.Dummies > 0 {
					row = inLevel(pass.Dummies, rng.IntN(3), row)
				}
				rows = append(rows, row...)
			}
			m := m + pass.Dummies
			part := func(rows []float64) []byte {
				t.Helper()
				s := must.Get(pass.Gather(3, func(sinks ...func([]float64) error) error {
					for some := range slices.Chunk(rows, 50*m) {
						if err := sinks[rng.IntN(3)](some); err != nil {
							return err
						}
					}
					return nil
				}))(t)
				return must.Get(s.MarshalBinary())(t)
			}
			whole := part(rows)
			at := m * rng.IntN(700)
			if merged, err := pass.Merge(part(rows[:at]), part(rows[at:])); err != nil || !bytes.Equal(merged, whole) {
				t.Errorf("%+v: merged otherwise (%v)", pass, err)
			}
			changed := &rows[rng.IntN(700)*m+m-1]
			*changed = *changed/2 + 0.3
			if bytes.Equal(part(rows), whole) {
				t.Errorf("%+v: other rows have the same bytes", pass)
			}
			empty := must.Get(pass.Empty())(t)
			for end := range whole {
				if empty().UnmarshalBinary(whole[:end]) == nil {
					t.Fatalf("%+v: %d bytes of %d are taken", pass, end, len(whole))
				}
			}
			if pass.Frame != nil {
				whole[23] ^= 1 // of the number of rows
				if empty().UnmarshalBinary(whole) == nil {
					t.Errorf("%+v: a row more or less is taken", pass)
				}
			}
		}
	}
	for name, pass := range map[string]Pass{"no radius": {Columns: 2, Frame: boxFrame(2)}, "other columns": {Columns: 3, Frame: boxFrame(2), Radii: true}} {
		pass.Frame.Radius = 0
		if _, err := pass.Empty(); err == nil {
			t.Error(name)
		}
	}
	if NewAccumulator(2).Merge(mustBall(t, nil, 2).Radii()) == nil {
		t.Error("sums and radii were merged")
	}
}

func mustAdd(t testing.TB, a *Accumulator, rows ...[]float64) {
	t.Helper()
	for _, row := range rows {
		must.Do(t, a.AddRows(row))
	}
}

// randomRows has uniform values, edges and multiples of the lattice's half step.
func randomRows(rng *rand.Rand, n, m int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, m)
		for j := range rows[i] {
			switch rng.IntN(4) {
			case 0:
				rows[i][j] = float64(rng.IntN(3) - 1)
			case 1:
				rows[i][j] = (float64(rng.IntN(2*unit)) - unit + 0.5) / unit
			default:
				rows[i][j] = 2*rng.Float64() - 1
			}
		}
	}
	return rows
}

// reference sums in big integers, straight from the definition.
func reference(rows [][]float64, m int) []*big.Int {
	z := make([]*big.Int, m+m*(m+1)/2)
	for i := range z {
		z[i] = new(big.Int)
	}
	k := make([]*big.Int, m)
	for _, row := range rows {
		for j, v := range row {
			k[j] = big.NewInt(int64(math.Floor(v*unit + 0.5)))
		}
		i := m
		for j := range k {
			z[j].Add(z[j], new(big.Int).Lsh(k[j], LatticeBits))
			for l := j; l < m; l++ {
				z[i].Add(z[i], new(big.Int).Mul(k[j], k[l]))
				i++
			}
		}
	}
	return z
}

func equalInts(a, b []*big.Int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Cmp(b[i]) != 0 {
			return false
		}
	}
	return true
}

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
	must.Do(t, first.AddRows(row))
	a := many(t, NewAccumulator(2), first, func(a, b *Accumulator) error { return a.Merge(b) }, MaxRows)
	one := new(big.Int).Lsh(big.NewInt(MaxRows), 2*LatticeBits)
	minus := new(big.Int).Neg(one)
	want := []*big.Int{one, minus, one, minus, one}
	s := a.Statistics()
	if s.N != MaxRows || !equalInts(s.BigInts(), want) {
		t.Fatalf("%d rows: %v", s.N, s.BigInts())
	}
	if a.AddRows(row) == nil || a.Merge(NewAccumulator(2)) != nil || !equalInts(a.Statistics().BigInts(), want) {
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
	row := []float64{-1, 0}
	first := NewMomentAccumulator(1)
	must.Do(t, first.AddRows(row))
	a := many(t, NewMomentAccumulator(1), first, (*MomentAccumulator).Merge, MaxRows)
	one := new(big.Int).Lsh(big.NewInt(MaxRows), momentBits)
	want := []*big.Int{new(big.Int).Neg(one), one}
	if got := a; got.N() != MaxRows || !equalInts(got.BigInts(), want) {
		t.Errorf("%d rows: %v", got.N(), got.BigInts())
	}
	if a.AddRows(row) == nil {
		t.Error("one row more is taken")
	}
}
