package ssp

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// inLevel is a row: dummies of level l of k+1, and values.
func inLevel(k, l int, v []float64) []float64 {
	row := make([]float64, k)
	for i := range row {
		row[i] = -1
	}
	if l > 0 {
		row[l-1] = 1
	}
	return append(row, v...)
}

// levelSums are what noise is put on, exact integers, of rows.
func levelSums(t *testing.T, k int, nb release.Neighbours, rows ...[]float64) []*big.Int {
	t.Helper()
	a := NewAccumulator(len(rows[0]))
	must.Do(t, a.AddRows(slices.Concat(rows...)))
	return must.Get(a.Statistics().byLevels(k, nb))(t)
}

// levelDistance is the L1 distance, and the square of the L2 distance, of such sums.
func levelDistance(v, w []*big.Int) (l1, l2 float64) {
	for i := range v {
		d, _ := new(big.Int).Sub(v[i], w[i]).Float64()
		d = math.Abs(math.Ldexp(d, -2*LatticeBits))
		l1, l2 = l1+d, l2+d*d
	}
	return l1, l2
}

// TestLevelSensitivity climbs from random rows in the same level or another, through the integers that
// are published: none is beyond the claim, the worst comes within 1 %, and the points of the proof
// attain it but for the lattice.
func TestLevelSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, k := range []int{2, 9, 1}[:testsize.Of(1, 3)] {
		for q := 1; q <= 4; q++ {
			l1, l2 := release.LevelSensitivity(k+q, k, release.ReplaceOne)
			claim := [2]float64{}
			claim[0], _ = l1.Float64()
			claim[1], _ = l2.Float64()
			shared := inLevel(k, 0, make([]float64, q))
			for norm := range 2 {
				of := func(level int, x []float64) []*big.Int {
					return levelSums(t, k, release.ReplaceOne, inLevel(k, level, x), shared)
				}
				apart := func(v, w []*big.Int) float64 {
					d1, d2 := levelDistance(v, w)
					return [2]float64{d1, d2}[norm]
				}
				most := 0.0
				for range testsize.Of(6, 30) {
					levels, v, w := [2]int{rng.IntN(k + 1), rng.IntN(k + 1)}, make([]float64, q), make([]float64, q)
					for j := range q {
						v[j], w[j] = float64(2*rng.IntN(2)-1), 2*rng.Float64()-1
					}
					z := [2][]*big.Int{of(levels[0], v), of(levels[1], w)}
					best := apart(z[0], z[1])
					for step := 1.0; step > 0.01; {
						better := false
						for i, x := range [][]float64{v, w} {
							for j := range q {
								for _, by := range []float64{-step, step} {
									old := x[j]
									x[j] = max(-1, min(1, old+by))
									moved := of(levels[i], x)
									if d := apart(moved, z[1-i]); d > best {
										best, better, z[i] = d, true, moved
									} else {
										x[j] = old
									}
								}
							}
						}
						if !better {
							step /= 2
						}
					}
					most = max(most, best)
				}
				if most > claim[norm] || most < 0.99*claim[norm] {
					t.Errorf("k=%d q=%d norm %d: the worst found is %v, the claim %v", k, q, norm+1, most, claim[norm])
				}
				v, w := make([]float64, q), make([]float64, q)
				for j := range q {
					v[j], w[j] = 1, 1
					if j >= (q+1)/2 {
						w[j] = -1
					} else if norm == 0 && q%2 == 1 {
						w[j] = 1 - 2/float64(q+3)
					}
				}
				if got := apart(of(k-1, v), of(k, w)); math.Abs(got-claim[norm]) > 1e-5 && !(norm == 1 && q%2 == 1) {
					t.Errorf("k=%d q=%d norm %d: the proof's point has %v, the claim is %v", k, q, norm+1, got, claim[norm])
				}
			}
		}
	}
}

// TestLevelSensitivityAddRemove climbs from random rows that others lack, through the integers that are published: none
// is beyond the claim, and the worst attain it.
func TestLevelSensitivityAddRemove(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 10))
	for _, k := range []int{1, 2, 9} {
		for q := 1; q <= 4; q++ {
			l1, l2 := release.LevelSensitivity(k+q, k, release.AddRemove)
			shared := inLevel(k, rng.IntN(k+1), make([]float64, q))
			without := levelSums(t, k, release.AddRemove, shared)
			for norm, claim := range []float64{ratToFloat(l1), ratToFloat(l2)} {
				apart := func(x []float64) float64 {
					d1, d2 := levelDistance(levelSums(t, k, release.AddRemove, inLevel(k, rng.IntN(k+1), x), shared), without)
					return [2]float64{d1, d2}[norm]
				}
				most := 0.0
				for range testsize.Of(6, 30) {
					x := make([]float64, q)
					for j := range x {
						x[j] = 2*rng.Float64() - 1
					}
					best := apart(x)
					for step := 1.0; step > 0.01; step /= 2 {
						for j := range x {
							for _, by := range []float64{-step, step} {
								old := x[j]
								x[j] = max(-1, min(1, old+by))
								if d := apart(x); d > best {
									best = d
								} else {
									x[j] = old
								}
							}
						}
					}
					most = max(most, best)
				}
				if most > claim || most < 0.99*claim {
					t.Errorf("k=%d q=%d norm %d: the worst found is %v, the claim %v", k, q, norm+1, most, claim)
				}
			}
		}
	}
}

// levelDesign has a factor of three levels, a truth value, x and y.
func levelDesign() *schema.Design {
	d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true,
		Factors: []schema.Factor{{Name: "f", Levels: []string{"a", "b", "c"}}}}
	for _, level := range []string{"b", "c"} {
		d.Covariates = append(d.Covariates, schema.Column{Name: "f" + level, Upper: 1, Factor: "f", Level: level})
	}
	d.Covariates = append(d.Covariates, schema.Column{Name: "x", Lower: -1, Upper: 1})
	return d
}

// TestPublishLevels compares what is published with the sums without noise: known ones are exact, others
// follow, and noise on sums by levels has the scale that is stated.
func TestPublishLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	a := NewAccumulator(4)
	for range 300 {
		must.Do(t, a.Add(inLevel(2, rng.IntN(2)*2, []float64{2*rng.Float64() - 1, 2*rng.Float64() - 1})))
	}
	s, truth := a.Statistics(), a.Statistics().Vector()
	privacy := release.Privacy{Epsilon: 0.5, Neighbours: release.ReplaceOne}
	e := mechanisms.Simulated(rng)
	for nb, scale := range map[release.Neighbours]float64{release.ReplaceOne: 16, release.AddRemove: 12} { // 8/ε and 6/ε
		privacy.Neighbours = nb
		sum, ofN, entries := 0.0, 0.0, 0
		for range 200 {
			r := must.Get(PublishLevels(context.Background(), s, levelDesign(), "f", privacy, release.Laplace, e))(t)
			n, z := float64(r.N), r.Statistics.Vector()
			if ofN += (n - 300) * (n - 300); r.Noise.Scale != scale || nb == release.ReplaceOne && n != 300 {
				t.Fatalf("scale %v, not %v, n = %v", r.Noise.Scale, scale, n)
			}
			for _, i := range []int{release.Index(4, 0, 0), release.Index(4, 1, 1)} {
				if z[i] != n {
					t.Fatalf("Σu² = %v", z[i])
				}
			}
			if cross := z[release.Index(4, 0, 1)]; math.Abs(cross+n+z[0]+z[1]) > 1e-9 {
				t.Fatalf("Σu_1u_2 = %v, dummies %v, %v", cross, z[0], z[1])
			}
			for i, c := range release.Combinations(4, 2, 3) {
				sum += math.Abs(r.Measured()[i] - c.Value(truth, 300))
				entries++
			}
		}
		if mean := sum / float64(entries); math.Abs(mean-scale) > scale*5/math.Sqrt(float64(entries)) {
			t.Errorf("mean absolute noise %v, not %v", mean, scale)
		}
		if want := 200 * 3 * 2 * scale * scale; nb == release.AddRemove && math.Abs(ofN/want-1) > 0.5 {
			t.Errorf("n has a variance of %v, and three counts have one of %v", ofN/200, want/200)
		}
	}
	for _, half := range [][]float64{{0, -1, 0, 0}, {1, 1, 0, 0}} {
		b := NewAccumulator(4)
		must.Do(t, b.Add(half))
		if _, err := PublishLevels(context.Background(), b.Statistics(), levelDesign(), "f", privacy, release.Laplace, e); err == nil || !strings.Contains(err.Error(), "in no level") {
			t.Errorf("dummies %v: %v", half[:2], err)
		}
	}
}
