package ssp

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// perLevel are the sums within levels of rows of k dummies and q columns.
func perLevel(t *testing.T, k, q int, rows ...[]float64) []*Statistics {
	t.Helper()
	all := must.Get(Pass{Columns: q, Dummies: k}.Gather(1, func(sinks ...func([]float64) error) error { return sinks[0](slices.Concat(rows...)) }))(t)
	return PerLevel(all)
}

// TestPerLevelSensitivity: the claim is the maximum of docs/sensitivity.md, which no neighbours exceed in the integers that are
// published, and some attain but for the lattice.
func TestPerLevelSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, k := range []int{1, 3} {
		for q := 1; q <= 3; q++ {
			l1, l2 := release.Leveled{M: k + q, Dummies: k, PerLevel: true}.Sensitivity(release.ReplaceOne)
			claim, _ := l1.Float64()
			squared, _ := l2.Float64()
			if s := (levelled{k + 1, q, true}); claim != s.l1() || squared != s.squaredL2() {
				t.Fatalf("k = %d, q = %d: %v and %v, not %v and %v", k, q, claim, squared, s.l1(), s.squaredL2())
			}
			most := [2]float64{}
			for i := range 200 {
				v, w := make([]float64, q), make([]float64, q)
				for j := range q {
					if v[j], w[j] = 2*rng.Float64()-1, 2*rng.Float64()-1; i%2 == 0 {
						v[j], w[j] = float64(2*rng.IntN(2)-1), float64(2*rng.IntN(2)-1)
					}
				}
				a, b := perLevel(t, k, q, inLevel(k, rng.IntN(k+1), v)), perLevel(t, k, q, inLevel(k, rng.IntN(k+1), w))
				first, second := 0.0, 0.0
				for l := range a {
					d1, d2 := levelDistance(a[l].BigInts(), b[l].BigInts())
					count := float64(a[l].N - b[l].N)
					if l == 0 && k == 1 {
						count = 0 // n tells it
					}
					first, second = first+d1+math.Abs(count), second+d2+count*count
				}
				most[0], most[1] = max(most[0], first), max(most[1], second)
			}
			for i, bound := range []float64{claim, squared} {
				if most[i] > bound || most[i] < bound-1e-3 {
					t.Errorf("k = %d, q = %d: norm %d reaches %v of %v", k, q, i+1, most[i], bound)
				}
			}
		}
	}
}

// TestPublishPerLevel: sums of products follow as if rows had them, and with the noise that is stated.
func TestPublishPerLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	d := must.Get(levelDesign().Crossed("f"))(t)
	frame, all := d.Frame(), NewAccumulator(len(d.Columns()))
	var rows [][]float64
	for range 200 {
		level, x, y := rng.IntN(3), 2*rng.Float64()-1, 2*rng.Float64()-1
		rows = append(rows, inLevel(2, level, []float64{x, y}))
		wide := []float64{0, 0, x, 0, 0, y}
		if level > 0 {
			wide[level-1], wide[2+level] = 1, x
		}
		frame.Scale(wide, wide)
		must.Do(t, all.Add(wide))
	}
	levels, want := perLevel(t, 2, 2, rows...), all.Statistics().Vector()
	for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		const times = 600
		squares := make([]float64, len(want))
		var sd []float64
		for range times {
			r := must.Get(PublishPerLevel(context.Background(), levels, d, "f", release.Privacy{Epsilon: 10, Neighbours: nb}, release.Laplace, mechanisms.Simulated(rng)))(t)
			sd = r.ScaledSD()
			for i, v := range r.Statistics.Vector() {
				squares[i] += (v - want[i]) * (v - want[i]) / times
			}
		}
		for i, v := range squares { // of n, rounded, a little more
			if off := math.Sqrt(v) - sd[i]; !(math.Abs(off) <= 0.15*sd[i]+0.5) || sd[i] == 0 && v > 1e-6 {
				t.Errorf("%s: sum %d is off by %v, sd %v", nb, i, math.Sqrt(v), sd[i])
			}
		}
	}
}
