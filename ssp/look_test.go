package ssp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
)

var budgets = []release.Privacy{
	{Epsilon: 1, Neighbours: release.ReplaceOne},
	{Epsilon: 0.3, Neighbours: release.AddRemove},
	{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne},
	{Epsilon: 3, Delta: 1e-9, Neighbours: release.AddRemove},
}

func mustBudget(t testing.TB, pr release.Privacy) Budget {
	t.Helper()
	return must.Get(NewBudget(pr))(t)
}

// What looks and counts of radii take, by the scales that they state and in rational
// arithmetic, is no more than the whole where their shares are; and but for the rounding of
// floats no less. Sensitivities are those of the statement, not of the code.
func TestSharesMakeTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for _, pr := range budgets {
		b, whole := mustBudget(t, pr), number.Decimal(pr.Epsilon)
		if pr.Delta > 0 {
			s := must.Get(accounting.Sigma(pr.Epsilon, pr.Delta, 1))(t)
			whole = new(big.Rat).Inv(square(s))
		}
		takes := func(delta *big.Rat, scale float64) *big.Rat { // delta is squared for Gaussian noise
			if pr.Delta > 0 {
				return new(big.Rat).Quo(delta, square(scale))
			}
			return new(big.Rat).Quo(delta, number.Exactly(scale))
		}
		for range 100 {
			taken, left, shares := new(big.Rat), 1., new(big.Rat)
			for range 4 {
				f := boxFrame(3)
				f.Radius, f.Weight = math.Exp2(8*rng.Float64()-4), math.Exp2(8*rng.Float64()-4)
				share := left * rng.Float64()
				n := must.Get(b.Noise(3, f, share))(t)
				checkScales(t, n, f)
				delta := new(big.Rat).Add(square(f.Weight), square(f.Radius))
				if pr.Neighbours == release.ReplaceOne && n.Sensitivity < math.Sqrt2*ratToFloat(delta)*(1-1e-15) {
					t.Errorf("sensitivity %v of %v", n.Sensitivity, ratToFloat(delta))
				}
				delta.Mul(delta, delta)
				if pr.Neighbours == release.ReplaceOne {
					delta.Add(delta, delta)
				}
				if square(n.Sensitivity).Cmp(delta) < 0 || square(math.Nextafter(n.Sensitivity, 0)).Cmp(delta) >= 0 {
					t.Fatalf("Δ = %v is not √%v rounded up", n.Sensitivity, delta)
				}
				if pr.Delta == 0 {
					delta = number.Exactly(n.Sensitivity)
				}
				taken.Add(taken, takes(delta, n.Scale))
				if b.countsApart() {
					count := must.Get(b.scale(big.NewRat(1, 1), share, ofCount))(t)
					taken.Add(taken, takes(big.NewRat(1, 1), count))
				}
				shares.Add(shares, number.Exactly(share))

				share = left * rng.Float64() / 4
				histogram, _, err := b.PublishRadii(mustBall(t, RoundFrame(f), 3).Radii(), share, seeded(1))
				must.Do(t, err)
				rows := map[bool]int64{false: 2, true: 1}[pr.Neighbours == release.AddRemove]
				taken.Add(taken, takes(big.NewRat(rows, 1), histogram.Scale))
				shares.Add(shares, number.Exactly(share))
				left = ratToFloat(new(big.Rat).Sub(big.NewRat(1, 1), shares)) * (1 - 1e-15)
				if left <= 1e-6 {
					break
				}
			}
			allowed := new(big.Rat).Mul(whole, shares)
			if taken.Cmp(allowed) > 0 {
				t.Fatalf("%+v: %v of the privacy is taken, more than a share of %v", pr, ratToFloat(taken), ratToFloat(shares))
			}
			if ratToFloat(taken.Quo(taken, allowed)) < 1-1e-12 {
				t.Fatalf("%+v: only %v of a share is taken", pr, ratToFloat(taken))
			}
		}
	}
}

// checkScales: noise is isotropic in φ, rounded up, and the smallest floats that are.
func checkScales(t *testing.T, n release.Noise, f *release.Frame) {
	t.Helper()
	cross := func(x float64) bool { return new(big.Rat).Mul(big.NewRat(2, 1), square(x)).Cmp(square(n.Scale)) >= 0 }
	linear := func(x float64) bool {
		q := new(big.Rat).Mul(square(f.Weight), square(x))
		return q.Mul(q, big.NewRat(2, 1)).Cmp(square(n.Scale)) >= 0
	}
	if !cross(n.Cross) || cross(math.Nextafter(n.Cross, 0)) || !linear(n.Linear) || linear(math.Nextafter(n.Linear, 0)) {
		t.Fatalf("κ = %v: scales %+v", f.Weight, n)
	}
}

func TestBudgetRefuses(t *testing.T) {
	for _, pr := range []release.Privacy{{}, {Epsilon: 1}, {Epsilon: 1, Delta: 2, Neighbours: release.ReplaceOne}, {Epsilon: -1, Neighbours: release.AddRemove}} {
		if _, err := NewBudget(pr); err == nil {
			t.Errorf("%+v is accepted", pr)
		}
	}
	b, f := mustBudget(t, budgets[0]), boxFrame(2)
	s := mustBall(t, f, 2).NewAccumulator()
	for _, share := range []float64{0, -1, math.NaN(), 1.5, 1e-200} {
		if _, _, err := b.PublishRadii(mustBall(t, f, 2).Radii(), share, seeded(1)); err == nil {
			t.Errorf("radii with a share of %v", share)
		}
		if _, err := b.PublishLook(s, f, share, seeded(1)); err == nil {
			t.Errorf("a look with a share of %v", share)
		}
	}
	for i, spoil := range []func(f *release.Frame){
		func(f *release.Frame) { f.Radius *= 2 },
		func(f *release.Frame) { f.Centre[0] = 0.5 },
		func(f *release.Frame) { f.Matrix[1][0] = 0.5 },
		func(f *release.Frame) { f.Weight = 0 },
		func(f *release.Frame) { f.Weight = math.NaN() },
		func(f *release.Frame) { f.Weight = math.Inf(1) },
	} {
		f := boxFrame(2)
		spoil(f)
		if _, err := b.PublishLook(s, f, 0.5, seeded(1)); err == nil {
			t.Errorf("a look in another frame, %d", i)
		}
	}
}

// The least privacy, shares and frames that there are: noise has no end, and counts stay
// within 64 bits.
func TestHugeNoise(t *testing.T) {
	f := boxFrame(2)
	f.Radius, f.Weight = 1<<mostRadius, 1<<mostRadius
	for _, pr := range budgets {
		pr.Epsilon = MinEpsilon
		pr.Delta = min(pr.Delta, MinDelta)
		b, s := mustBudget(t, pr), mustBall(t, f, 2).NewAccumulator()
		look, err := b.PublishLook(s, f, 1./(1<<50), seeded(1))
		if err != nil || math.IsInf(look.Noise.Scale, 0) || look.Noise.Scale < 1<<100 {
			t.Errorf("%+v: noise %+v (%v)", pr, look.Noise, err)
		}
		if _, _, err := b.PublishRadii(mustBall(t, f, 2).Radii(), 1./(1<<50), seeded(1)); err != nil {
			t.Errorf("%+v: %v", pr, err)
		}
	}
	huge := new(big.Int).Lsh(big.NewInt(1), 70)
	if saturated(huge) != math.MaxInt64 || saturated(huge.Neg(huge)) != math.MinInt64 || saturated(big.NewInt(-5)) != -5 {
		t.Error("counts wrap")
	}
}

// A look is the exact sums plus noise on its lattice, and nothing else; one seed gives the
// same one again; no radius or weight is forgotten on the way to the file.
func TestLookIsSumsPlusNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	for _, pr := range budgets {
		b := mustBudget(t, pr)
		for i, f := range testFrames(rng, 3) {
			f.Weight, f.Lost = 0.7, 11
			s := mustBall(t, f, 3).NewAccumulator()
			must.Do(t, s.AddRows(slices.Concat(frameRows(rng, 20, f)...)))
			before := s.integers()
			look := must.Get(b.PublishLook(s, f, 0.25, seeded(3)))(t)
			again, _ := b.PublishLook(s, f, 0.25, seeded(3))
			noise, _ := b.Noise(3, f, 0.25)
			if !reflect.DeepEqual(look, again) || !equalInts(before, s.integers()) {
				t.Error("one seed gives two looks, or the sums change")
			}
			if !reflect.DeepEqual(look.Frame, f) || look.Noise != noise || look.Radii != nil || (look.N == 0) != (pr.Neighbours == release.ReplaceOne) {
				t.Errorf("the look says %+v", look)
			}
			for j, x := range look.Statistics.Vector() {
				steps := new(big.Rat).Quo(number.Exactly(x), number.Exactly(noise.Lattice))
				if !steps.IsInt() && math.Abs(x) < noise.Lattice*(1<<52) {
					t.Errorf("frame %d, entry %d is off the lattice", i, j)
				}
			}
			exact := exactSums(f, s)
			if got := toScaled(before, 2*radiusLattice(f.Radius)); !slices.Equal(got, exact) {
				t.Errorf("frame %d: sums are %v, want %v", i, got, exact)
			}
		}
	}
}

// exactSums are those of an Accumulator of w = ũ/2^b, times 2^b and 4^b.
func exactSums(f *release.Frame, s *BallAccumulator) []float64 {
	scale := math.Exp2(math.Ceil(math.Log2(f.Radius)))
	s.flush()
	v := s.sums.Statistics().Vector()
	for i := range v {
		v[i] *= scale
		if i >= s.Dim() {
			v[i] *= scale
		}
	}
	return v
}

// The noise of a look in the coordinates of φ, from the statement alone: (κ²n, √2κΣũ_j, Σũ_j²,
// √2Σũ_jũ_k) less the same of the rows, over s = Δ/(ε·share) or ΔS/√share. It is isotropic:
// every entry has its law, and of a ball the norm the Gamma law of shape k. Of 0.9 times the
// scale, or without a √2 or κ, tests say so.
func TestNoiseOfLooks(t *testing.T) {
	const looks, share = 4000, 0.4
	rng := rand.New(rand.NewPCG(23, 1))
	f := RoundFrame(testFrame(rng, 2, 2))
	f.Radius, f.Weight = 1.7, 1.3
	f = RoundFrame(f)
	s := mustBall(t, f, 2).NewAccumulator()
	must.Do(t, s.AddRows(slices.Concat(frameRows(rng, 20, f)...)))
	exact := exactSums(f, s)
	for i, pr := range budgets {
		if testing.Short() && i != 1 {
			continue
		}
		b, e := mustBudget(t, pr), seeded(24)
		scale := (1.3*1.3 + 1.7*1.7) / (share * pr.Epsilon)
		if pr.Delta > 0 {
			sigma, _ := accounting.Sigma(pr.Epsilon, pr.Delta, 1)
			scale = (1.3*1.3 + 1.7*1.7) * sigma / math.Sqrt(share)
		}
		if pr.Neighbours == release.ReplaceOne {
			scale *= math.Sqrt2
		}
		weights := []float64{math.Sqrt2 * 1.3, math.Sqrt2 * 1.3, 1, math.Sqrt2, 1, 1.3 * 1.3} // of Σu_1, Σu_2, Σu_1², Σu_1u_2, Σu_2², n
		k, counts := 5, 0.
		switch apart := pr.Delta == 0; {
		case pr.Neighbours == release.AddRemove && apart:
			scale /= 0.95
		case pr.Neighbours == release.AddRemove:
			k = 6
		}
		x, norm := make([][]float64, k), make([]float64, looks)
		for i := range looks {
			look := must.Get(b.PublishLook(s, f, share, e))(t)
			values := append(look.Statistics.Vector(), float64(look.N))
			counts += math.Abs(float64(look.N-s.N())) / looks
			for j := range k {
				values[j] -= append(exact, float64(s.N()))[j]
				values[j] *= weights[j] / scale
				x[j] = append(x[j], values[j])
				norm[i] = math.Hypot(norm[i], values[j])
			}
		}
		checkSigns(t, x)
		if b := 20 / (share * pr.Epsilon); pr.Delta == 0 && pr.Neighbours == release.AddRemove && math.Abs(counts/b-1) > 5/math.Sqrt(looks) {
			t.Errorf("%+v: the mean of |noise on n| is %v, of Laplace noise %v", pr, counts, b)
		}
		limit := 2.76 / math.Sqrt(looks)
		if d := distanceTo(norm, normCDF(pr, k)); d > limit {
			t.Errorf("%+v: the norm is %.3f from its law", pr, d)
		}
		for j := range k {
			if d := distanceTo(x[j], entryCDF(pr, k)); d > limit {
				t.Errorf("%+v: entry %d is %.3f from its law", pr, j, d)
			}
			for i := range x[j] {
				x[j][i] *= 0.8
			}
			if d := distanceTo(x[j], entryCDF(pr, k)); d <= limit {
				t.Errorf("%+v: entry %d with 0.8 of its noise passes", pr, j)
			}
		}
	}
}

func normCDF(pr release.Privacy, k int) func(float64) float64 {
	if pr.Delta == 0 {
		return distuv.Gamma{Alpha: float64(k), Beta: 1}.CDF
	}
	chi := distuv.ChiSquared{K: float64(k)}
	return func(x float64) float64 { return chi.CDF(x * x) }
}

// entryCDF of a ball integrates over V, of k+1 degrees of freedom: a normal entry of
// variance V, by its quantiles.
func entryCDF(pr release.Privacy, k int) func(float64) float64 {
	if pr.Delta > 0 {
		return distuv.UnitNormal.CDF
	}
	const points = 400
	var sd [points]float64
	for i := range sd {
		sd[i] = math.Sqrt(distuv.ChiSquared{K: float64(k + 1)}.Quantile((float64(i) + 0.5) / points))
	}
	return func(x float64) (p float64) {
		for _, s := range sd {
			p += distuv.UnitNormal.CDF(x/s) / points
		}
		return p
	}
}

// The noise on radii has the scale stated, which TestSharesMakeTheWhole checks, and the
// number of rows is public or the sum.
func TestNoiseOfRadii(t *testing.T) {
	for _, pr := range budgets {
		b, e := mustBudget(t, pr), seeded(25)
		c := mustBall(t, nil, 2).Radii()
		must.Do(t, c.AddRows(slices.Repeat([]float64{0.5, -0.25}, 1000)))
		var noise []float64
		for range 300 {
			r, n, err := b.PublishRadii(c, 0.01, e)
			must.Do(t, err)
			sum := int64(0)
			for i, count := range r.Counts {
				sum += count
				noise = append(noise, float64(count-c.count[i])/r.Scale)
			}
			if r.Least != c.least || pr.Neighbours == release.AddRemove && n != sum || pr.Neighbours == release.ReplaceOne && n != 1000 {
				t.Fatalf("%+v: %+v with n = %d", pr, r, n)
			}
		}
		cdf := distuv.UnitNormal.CDF
		if pr.Delta == 0 {
			cdf = laplaceCDF
		}
		// Counts are whole, and scales above 50: that moves the distribution by 0.01 at most.
		if d := distanceTo(noise, cdf); d > 2.76/math.Sqrt(float64(len(noise)))+0.01 {
			t.Errorf("%+v: noise is %.3f from its law", pr, d)
		}
	}
}
