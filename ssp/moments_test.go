package ssp

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// momentReference sums monomials of degree least to 4 in big integers, in units of
// 2^-80, straight from the definition.
func momentReference(rows [][]float64, p, least int) []*big.Int {
	var z []*big.Int
	for _, e := range release.MomentExponents(p, least) {
		sum := new(big.Int)
		for _, row := range rows {
			v, free := big.NewInt(1), uint(momentBits)
			for j, k := range e {
				for range k {
					v.Mul(v, big.NewInt(int64(math.Floor(row[j]*unit+0.5))))
					free -= LatticeBits
				}
			}
			sum.Add(sum, v.Lsh(v, free))
		}
		z = append(z, sum)
	}
	return z
}

func testMoments(t testing.TB, rows ...[]float64) *MomentAccumulator {
	t.Helper()
	a := NewMomentAccumulator(len(rows[0]) - 1)
	for _, row := range rows {
		must.Do(t, a.AddRows(row))
	}
	return a
}

// Exact, and the same bits however rows are ordered, divided and merged.
func TestMomentSumsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 1))
	for p := 1; p <= release.MaxMomentCovariates; p++ {
		rows := randomRows(rng, 300, p+1)
		want := momentReference(rows, p, 3)
		if got := testMoments(t, rows...); got.N() != 300 || !equalInts(got.BigInts(), want) {
			t.Errorf("p = %d: sums differ", p)
		}
		parts := []*MomentAccumulator{NewMomentAccumulator(p), NewMomentAccumulator(p), NewMomentAccumulator(p)}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for _, row := range rows {
			must.Do(t, parts[rng.IntN(3)].AddRows(row))
		}
		for _, b := range parts[1:] {
			must.Do(t, parts[0].Merge(b))
		}
		if got := parts[0]; got.N() != 300 || !equalInts(got.BigInts(), want) {
			t.Errorf("p = %d: merged sums differ", p)
		}
	}
}

// Doubling by self-merge up to MaxRows: 128 bits hold the sums.
func TestManyMoments(t *testing.T) {
	a := NewMomentAccumulator(1)
	must.Do(t, a.AddRows([]float64{-1, 0}))
	for a.n <= MaxRows/2 {
		must.Do(t, a.Merge(a))
	}
	one := new(big.Int).Lsh(big.NewInt(a.n), momentBits)
	want := []*big.Int{new(big.Int).Neg(one), one}
	if got := a; !equalInts(got.BigInts(), want) {
		t.Errorf("after %d rows: %v", got.N(), got.BigInts())
	}
	if err := a.Merge(a); err == nil || !equalInts(a.BigInts(), want) {
		t.Errorf("more than MaxRows rows: error %v", err)
	}
	a.n = MaxRows
	if a.AddRows([]float64{1, 0}) == nil {
		t.Error("a row beyond MaxRows")
	}
}

func TestMomentsRefuse(t *testing.T) {
	a := NewMomentAccumulator(2)
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1.0078125} {
		if err := a.AddRows([]float64{0.5, bad, 0}); err == nil || strings.Contains(err.Error(), fmt.Sprint(bad)) {
			t.Errorf("%v: error %v", bad, err)
		}
	}
	if a.n != 0 || slices.ContainsFunc(a.total, func(x int128) bool { return x != int128{} }) {
		t.Error("a refused row left a trace")
	}
	if a.Merge(NewMomentAccumulator(1)) == nil {
		t.Error("merged with another number of covariates")
	}
	row := []float64{0.1, -0.2, 0.3}
	if n := testing.AllocsPerRun(100, func() { _ = a.AddRows(row) }); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%d"} {
		for _, value := range []any{a, *a, a, *a} {
			if got := fmt.Sprintf(verb, value); !strings.Contains(got, "withheld") {
				t.Errorf("%s prints %s", verb, got)
			}
		}
	}
	s := testStatistics(t, row, row)
	if _, err := PublishMoments(t.Context(), s, testMoments(t, row), testDesign(3), pure(1), release.Laplace, seeded(1)); err == nil {
		t.Error("moments of other rows")
	}
	must.Fail(t, must.Err(CalibrateAll(4+1, true, pure(1), release.Laplace, Exact)), "1 to 3")
}

// The moments of a release are the exact sums plus the noise that it states, on their
// lattice, and the release is one that a reader accepts.
func TestPublishMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(62, 1))
	for p := 1; p <= release.MaxMomentCovariates; p++ {
		rows := randomRows(rng, 50, p+1)
		s, x := testStatistics(t, rows...), testMoments(t, rows...)
		for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
			for kind, delta := range map[release.Kind]float64{release.Laplace: 0, release.Gaussian: 1e-6, Auto: 1e-6} {
				pr := release.Privacy{Epsilon: 0.3, Delta: delta, Neighbours: nb}
				r := must.Get(PublishMoments(t.Context(), s, x, testDesign(p+1), pr, kind, seeded(3)))(t)
				together := r.Noise.Kind == release.Gaussian || p < 3
				if r.Moments.Together() != together || r.Moments.Noise.Lattice != momentLattice {
					t.Errorf("p = %d, %s, %s: noise on moments %+v", p, nb, kind, r.Moments.Noise)
				}
				if kind == release.Laplace {
					noiseOnMoments(t, r, s, momentReference(rows, p, map[bool]int{true: 3, false: 1}[together]))
				}
			}
		}
	}
}

// noiseOnMoments repeats the draws: n's and the statistics' come first.
func noiseOnMoments(t *testing.T, r *release.Release, s *Statistics, z []*big.Int) {
	t.Helper()
	e := seeded(3)
	for _, step := range []part{{[]*big.Int{big.NewInt(s.N)}, r.NNoise, 0}, {s.BigInts(), r.Noise.Scale, 40}, {z, r.Moments.Noise.Scale, 80}} {
		if step.scale == 0 {
			continue
		}
		if err := addNoise(release.Laplace, []part{step}, e); err != nil {
			t.Fatal(err)
		}
	}
	for i, got := range r.Moments.Sums {
		if want, _ := new(big.Rat).SetFrac(z[i], new(big.Int).Lsh(big.NewInt(1), 80)).Float64(); got != want {
			t.Errorf("moment %v is %v, want %v", r.Moments.Exponents[i], got, want)
		}
	}
}

// What is spent is ε, and a reader refuses anything less than the noise there is:
// both packages have the same sensitivities.
func TestMomentsClaim(t *testing.T) {
	for p := 1; p <= release.MaxMomentCovariates; p++ {
		rows := [][]float64{make([]float64, p+1), make([]float64, p+1)}
		for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
			for kind, delta := range map[release.Kind]float64{release.Laplace: 0, release.Gaussian: 1e-6} {
				pr := release.Privacy{Epsilon: 0.7, Delta: delta, Neighbours: nb}
				r := must.Get(PublishMoments(context.Background(), testStatistics(t, rows...), testMoments(t, rows...), testDesign(p+1), pr, kind, mechanisms.OS()))(t)
				less := *r
				x := *r.Moments
				less.Moments = &x
				for _, n := range []*release.Noise{&x.Noise, &less.Noise} {
					n.Scale *= 1 - 1e-3
					if kind == release.Gaussian {
						n.Scale *= 0.97
					}
					if x.Together() != (n == &less.Noise) && less.Validate() == nil {
						t.Errorf("p = %d, %s, %s: too little noise is accepted", p, nb, kind)
					}
				}
				less.Noise, x.Noise = r.Noise, r.Moments.Noise
				x.Noise.Sensitivity *= 1 - 1e-6
				if x.Together() {
					less.Noise.Sensitivity *= 1 - 1e-6
				}
				if err := less.Validate(); err == nil || !strings.Contains(err.Error(), "sensitivity") {
					t.Errorf("p = %d, %s, %s: a sensitivity that is too small is accepted: %v", p, nb, kind, err)
				}
			}
		}
	}
}

// Neighbours' exact sums differ by no more than is claimed, and the worst pair by
// nearly as much.
func TestSensitivityOfMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 1))
	for p := 1; p <= release.MaxMomentCovariates; p++ {
		limit, _ := momentsL1(p, release.ReplaceOne).Float64()
		worst := [][]float64{make([]float64, p), make([]float64, p)}
		for j := range p {
			worst[0][j], worst[1][j] = 1, [...]float64{-0.60583, -0.43708, -0.34238}[p-1]
		}
		for trial := range 100 {
			pair := randomRows(rng, 2, p)
			if trial == 0 {
				pair = worst
			}
			x, y := momentReference(pair[:1], p, 1), momentReference(pair[1:], p, 1)
			sum := new(big.Int)
			for i := range x {
				x[i].Sub(x[i], y[i])
				sum.Add(sum, x[i].Abs(x[i]))
			}
			got := toScaled([]*big.Int{sum}, momentBits)[0]
			if got > limit || trial == 0 && got < 0.99999*limit {
				t.Errorf("p = %d: a pair differs by %v, the sensitivity is %v", p, got, limit)
			}
		}
	}
}
