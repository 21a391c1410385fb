package ssp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

func summed(t *testing.T, rows [][]float64, m int) *Statistics {
	t.Helper()
	a := NewAccumulator(m)
	for _, row := range rows {
		must.Do(t, a.AddRows(row))
	}
	return a.Statistics()
}

// Sums that rows have are taken as they are, whatever the rank of their matrix.
func TestStatisticsOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, m := range []int{1, 2, 5, 30, 100 + 1} {
		for _, n := range []int{0, 1, 2, m, 3*m + 1} {
			rows := randomRows(rng, n, m)
			for _, row := range rows {
				row[0] = row[m-1] // collinear
			}
			want := summed(t, rows, m)
			got, err := StatisticsOf(m, want.N, want.BigInts())
			if err != nil {
				t.Errorf("%d rows of %d: %v", n, m, err)
				continue
			}
			if got.N != want.N || !slices.Equal(got.sum, want.sum) {
				t.Errorf("%d rows of %d: the sums differ", n, m)
			}
		}
	}
}

// Sums that no rows have are refused, each for its own fault.
func TestStatisticsOfRefuses(t *testing.T) {
	const m = 3
	rows := randomRows(rand.New(rand.NewPCG(9, 9)), 50, m)
	sound := summed(t, rows, m)
	at := func(j, k int) int { return release.Index(m, j, k) }
	even := func(z []*big.Int, i int, by int64) { z[i].Add(z[i], big.NewInt(2*by)) }
	for _, c := range map[string]struct {
		n      int64
		change func(z []*big.Int)
		says   string
	}{
		"negative":      {-1, func([]*big.Int) {}, "negative"},
		"many":          {MaxRows + 1, func([]*big.Int) {}, "too many rows"},
		"fewer rows":    {10, func([]*big.Int) {}, "so many rows"},
		"huge":          {50, func(z []*big.Int) { z[4].Lsh(big.NewInt(-1), 300) }, "sum 5"},
		"off lattice":   {50, func(z []*big.Int) { even(z, 0, 1) }, "sum 1"},
		"square < 0":    {50, func(z []*big.Int) { z[at(1, 1)].SetInt64(-2) }, "so many rows"},
		"rounded":       {50, func(z []*big.Int) { z[at(2, 2)].Add(z[at(2, 2)], big.NewInt(1)) }, "of column 3"},
		"mean² > n·Σv²": {50, func(z []*big.Int) { z[1].Lsh(big.NewInt(40), 40); z[at(1, 1)].Lsh(big.NewInt(20), 40) }, "semidefinite"},
		"too few":       {50, nil, "8 sums"},
		"no row":        {0, func([]*big.Int) {}, "so many rows"},
		"zero row":      {50, func(z []*big.Int) { z[0].SetInt64(0); z[at(0, 0)].SetInt64(0) }, "semidefinite"},
	} {
		z := sound.BigInts()
		if c.change == nil {
			z = z[:8]
		} else {
			c.change(z)
		}
		must.Fail(t, must.Err(StatisticsOf(m, c.n, z)), c.says)
	}
}

// What comes back is what was put in, to half a step of the lattice, whatever
// its sign and magnitude.
func TestFromVector(t *testing.T) {
	v := []float64{0, -1, 0.1, -0.1, 1e9 + 0.3, -1e10, math.Ldexp(1, -41), math.Ldexp(3, -41), -math.Ldexp(1, -40)}
	s := must.Get(FromVector(3, 12345, v))(t)
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
		must.Do(t, a.AddRows([]float64{math.Sin(float64(i)), -math.Abs(math.Cos(float64(i)))}))
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
