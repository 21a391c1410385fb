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
func levelSums(t *testing.T, l release.Leveled, nb release.Neighbours, rows ...[]float64) []*big.Int {
	t.Helper()
	a := NewAccumulator(l.M)
	must.Do(t, a.AddRows(slices.Concat(rows...)))
	return must.Get(a.Statistics().byLevels(l.Dummies, l.Known, nb))(t)
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

// climb moves entries of rows one at a time, up to where none takes sums farther apart; the last stay −1 or 1 where these are
// known.
func climb(rows [][]float64, known bool, apart func() float64) (most float64) {
	most = apart()
	for step := 1.0; step > 0.01; {
		better := false
		for _, x := range rows {
			for j, old := range x {
				to := []float64{max(-1, old-step), min(1, old+step)}
				if known && j == len(x)-1 {
					to = []float64{-old}
				}
				for _, v := range to {
					x[j] = v
					if d := apart(); d > most {
						most, better, old = d, true, v
					}
					x[j] = old
				}
			}
		}
		if !better {
			step /= 2
		}
	}
	return most
}

// TestLevelSensitivity climbs from random rows in the same level or another, or that others lack, through the integers that
// are published: none is beyond the claim, the worst comes within 1 %, and the points of the proof
// attain it but for the lattice.
func TestLevelSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		for _, k := range []int{2, 9, 1}[:testsize.Of(1, 3)] {
			for q := 1; q <= 4; q++ {
				for _, known := range []bool{false, true} {
					searchLevels(t, release.Leveled{M: k + q, Dummies: k, Known: known}, nb, rng)
				}
			}
		}
	}
}

func searchLevels(t *testing.T, l release.Leveled, nb release.Neighbours, rng *rand.Rand) {
	t.Helper()
	k, q := l.Dummies, l.M-l.Dummies
	l1, l2 := l.Sensitivity(nb)
	shared := inLevel(k, 0, append(make([]float64, q-1), 1))
	for norm, claim := range []float64{ratToFloat(l1), ratToFloat(l2)} {
		apart := func(levels [2]int, v, w []float64) float64 {
			second := [][]float64{shared, inLevel(k, levels[1], w)}
			if nb == release.AddRemove {
				second = second[:1]
			}
			d1, d2 := levelDistance(levelSums(t, l, nb, shared, inLevel(k, levels[0], v)), levelSums(t, l, nb, second...))
			return [2]float64{d1, d2}[norm]
		}
		most := 0.0
		for range testsize.Of(4, 6) {
			levels, rows := [2]int{rng.IntN(k + 1), rng.IntN(k + 1)}, [][]float64{make([]float64, q), make([]float64, q)}
			for j := range q {
				if rows[0][j], rows[1][j] = float64(2*rng.IntN(2)-1), 2*rng.Float64()-1; l.Known && j == q-1 {
					rows[1][j] = 1
				}
			}
			most = max(most, climb(rows, l.Known, func() float64 { return apart(levels, rows[0], rows[1]) }))
		}
		if most > claim || most < 0.99*claim {
			t.Errorf("%+v, %s, norm %d: the worst found is %v, the claim %v", l, nb, norm+1, most, claim)
		}
		v, w := make([]float64, q), make([]float64, q)
		for j := range q {
			v[j], w[j] = 1, 1
			if j >= (q+1)/2 || l.Known && q == 1 {
				w[j] = -1
			} else if norm == 0 && q%2 == 1 {
				w[j] = 1 - 2/float64(q+3)
			}
		}
		if got := apart([2]int{k - 1, k}, v, w); math.Abs(got-claim) > 1e-5 && !(norm == 1 && q%2 == 1) {
			t.Errorf("%+v, %s, norm %d: the proof's point has %v, the claim is %v", l, nb, norm+1, got, claim)
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
		must.Do(t, a.AddRows(inLevel(2, rng.IntN(2)*2, []float64{2*rng.Float64() - 1, 2*rng.Float64() - 1})))
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
	known := levelDesign()
	known.Response.Type = "boolean"
	for says, half := range map[string][]float64{"in no level": {0, -1, 0, 0}, "or in several": {1, 1, 0, 0}, "between them in a row": {1, -1, 0, 0.5}} {
		b := NewAccumulator(4)
		must.Do(t, b.AddRows(half))
		if _, err := PublishLevels(context.Background(), b.Statistics(), known, "f", privacy, release.Laplace, e); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", half, err)
		}
	}
}

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
		must.Do(t, all.AddRows(wide))
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
