package ssp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
)

func approximate(epsilon, delta float64) release.Privacy {
	return release.Privacy{Epsilon: epsilon, Delta: delta, Neighbours: release.ReplaceOne}
}

// As TestPublishIsSumsPlusNoise: the exact sums plus Gaussian noise of the scale
// that the release states.
func TestPublishGaussian(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for m := 2; m <= 6; m++ {
		sumsPlusNoise(t, randomRows(rng, 50, m), approximate(0.5, 1e-6), release.Gaussian, mechanisms.Gaussian)
	}
}

// A calibration is remembered, and is not taken for another one: of another ε, δ,
// number of columns or neighbours.
func TestGaussianCalibrationIsItsOwn(t *testing.T) {
	type asked struct {
		m int
		p release.Privacy
	}
	other := approximate(1, 1e-6)
	other.Neighbours = release.AddRemove
	for _, a := range []asked{{3, approximate(1, 1e-6)}, {3, approximate(2, 1e-6)}, {3, approximate(1, 1e-7)}, {4, approximate(1, 1e-6)}, {3, other}} {
		first := must.Get(Calibrate(a.m, a.p, release.Gaussian, Exact))(t)
		for range 2 {
			n := must.Get(Calibrate(3, approximate(1, 1e-6), release.Gaussian, Exact))(t)
			sigma, err := accounting.Sigma(1, 1e-6, rootUp(sensitivityL2Squared(3, release.ReplaceOne)))
			if err != nil || n.Scale != sigma {
				t.Errorf("after %+v: σ = %v, want %v (%v)", a, n.Scale, sigma, err)
			}
			if (n == first) != (a == asked{3, approximate(1, 1e-6)}) {
				t.Errorf("%+v has noise %+v", a, first)
			}
		}
	}
}

// The sensitivity covers the proven one, by less than an ulp; and of the numbers
// as they are written δ(ε, σ, Δ) ≤ δ, nearly with equality.
func TestGaussianCalibrationRoundsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 9))
	for i := range 200 {
		m := 2 + i%9
		epsilon, delta := math.Pow(10, 6*rng.Float64()-4), math.Pow(10, -15*rng.Float64())
		n := must.Get(Calibrate(m, approximate(epsilon, delta), release.Gaussian, Exact))(t)
		square := sensitivityL2Squared(m, release.ReplaceOne)
		covers := func(x float64) bool { return new(big.Rat).Mul(number.Exactly(x), number.Exactly(x)).Cmp(square) >= 0 }
		if !covers(n.Sensitivity) || covers(math.Nextafter(n.Sensitivity, 0)) {
			t.Fatalf("m = %d: sensitivity %v is not the root of %v rounded up", m, n.Sensitivity, square)
		}
		if got, err := accounting.Delta(epsilon, n.Scale, n.Sensitivity); err != nil || got > delta || got < delta*(1-1e-6) {
			t.Fatalf("m = %d, epsilon %v, delta %v: sigma %v has delta %v, %v", m, epsilon, delta, n.Scale, got, err)
		}
	}
}

func TestRoundDown(t *testing.T) {
	for _, q := range []*big.Rat{big.NewRat(1, 10), big.NewRat(3, 10), big.NewRat(1, 3), big.NewRat(1, 4), number.Decimal(1e-6)} {
		if f := number.RoundDown(q); number.Exactly(f).Cmp(q) > 0 || number.Exactly(math.Nextafter(f, 1)).Cmp(q) <= 0 {
			t.Errorf("%v rounded down is %v", q, f)
		}
	}
}

// The noise chosen is the smaller of the two that can be published, and Auto
// publishes it.
func TestChoose(t *testing.T) {
	for m := 2; m <= 12; m++ {
		for _, delta := range []float64{1e-9, 1e-6, 1e-2} {
			laplace := must.Get(Calibrate(m, pure(1), release.Laplace, Exact))(t)
			gaussian := must.Get(Calibrate(m, approximate(1, delta), release.Gaussian, Exact))(t)
			want, ratio := release.Gaussian, math.Sqrt2*laplace.Scale/gaussian.Scale
			if ratio < 1 {
				want, ratio = release.Laplace, 1/ratio
			}
			got, factor, err := Choose(m, false, approximate(1, delta))
			if err != nil || got != want || math.Abs(factor/ratio-1) > 1e-12 {
				t.Errorf("m = %d, delta %v: %s by %v (%v), want %s by %v", m, delta, got, factor, err, want, ratio)
			}
		}
	}
	if got, factor, err := Choose(30, false, pure(1)); err != nil || got != release.Laplace || !math.IsInf(factor, 1) {
		t.Errorf("without delta: %s by %v, %v", got, factor, err)
	}
	for m, want := range map[int]release.Kind{2: release.Laplace, 12: release.Gaussian} {
		s := testStatistics(t, make([]float64, m))
		r := must.Get(Publish(t.Context(), s, testDesign(m), approximate(1, 1e-6), Auto, Exact, seeded(4)))(t)
		if r.Noise.Kind != want || (r.Privacy.Delta == 0) != (want == release.Laplace) {
			t.Errorf("m = %d: %s noise, delta %v", m, r.Noise.Kind, r.Privacy.Delta)
		}
	}
}

// A smoke audit of δ. On neighbours that attain the L2 sensitivity, (1, 1) and
// (−1, 1), the sum of x and that of xy each differ by 2; with u the sum of the two,
// the event u > c where the densities' ratio is e^ε has P(first) − e^ε P(second) = δ
// exactly. Counts of n each give it ± 4.3 standard errors (1e-5).
func TestAuditGaussian(t *testing.T) {
	testsize.Full(t, "package mechanisms has the law of the noise, and package audit the attack")
	const epsilon, delta = 1, 0.05
	n := testsize.Of(8000, 20_000)
	stated := must.Get(Calibrate(2, approximate(epsilon, delta), release.Gaussian, Exact))(t)
	estimate := func(scale float64) (value, tolerance float64) {
		drawn := stated
		drawn.Scale *= scale
		sd := math.Sqrt2 * drawn.Scale // of u, whose means are ±2
		c := epsilon * sd * sd / 4
		count := func(x float64, seed uint64) (hits float64) {
			s, e := testStatistics(t, []float64{x, 1}), seeded(seed)
			for range n {
				z := s.BigInts()
				if err := addNoise(drawn.Kind, []part{{z, drawn.Scale, 2 * LatticeBits}}, e); err != nil {
					t.Fatal(err)
				}
				if v := toScaled(z, 2*LatticeBits); v[release.Index(2, 0, 1)]+v[0] > c {
					hits++
				}
			}
			return hits / float64(n)
		}
		a, b := count(1, 51), count(-1, 52)
		return a - math.E*b, 4.3 * math.Sqrt((a*(1-a)+math.E*math.E*b*(1-b))/float64(n))
	}
	if d, tolerance := estimate(1); math.Abs(d-delta) > tolerance {
		t.Errorf("the audit finds delta = %.4f ± %.4f, claimed %v", d, tolerance, delta)
	}
	if d, tolerance := estimate(0.7); d-tolerance <= delta {
		t.Errorf("noise of 0.7 times sigma is not found out: delta = %.4f ± %.4f", d, tolerance)
	}
}

// Every entry of a release has noise of its own, of the law and scale that the
// release states: no entry is forgotten, none shares another's draw. A
// Kolmogorov-Smirnov test an entry, at 5e-7 each: √n·D > √(ln(2/5e-7)/2) = 2.76;
// and for each pair the signs' agreement less their disagreement, ± 5.4 √n (7e-8
// each); m = 4 has 14 entries and 91 pairs, so the false alarm is 1.4e-5 a law.
func TestNoiseOfEveryEntry(t *testing.T) {
	for kind, c := range map[release.Kind]struct {
		delta float64
		cdf   func(x float64) float64
	}{
		release.Laplace:  {0, laplaceCDF},
		release.Gaussian: {1e-6, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }},
	} {
		t.Run(string(kind), func(t *testing.T) {
			const releases = 4000
			privacy := pure(1)
			privacy.Delta = c.delta
			noise := noiseOf(t, kind, privacy, releases)
			checkSigns(t, noise)
			limit := 2.76 / math.Sqrt(releases)
			for i, x := range noise {
				if d := distanceTo(x, c.cdf); d > limit {
					t.Errorf("entry %d: distance %.3f from the noise stated, limit %.3f", i, d, limit)
				}
				for j := range x {
					x[j] *= 0.7
				}
				if d := distanceTo(x, c.cdf); d <= limit {
					t.Errorf("entry %d: noise of 0.7 times the scale passes", i)
				}
			}
		})
	}
}

// noiseOf gives for each entry the noise of so many releases, in units of the
// scale that they state.
func noiseOf(t *testing.T, kind release.Kind, privacy release.Privacy, releases int) [][]float64 {
	t.Helper()
	s := testStatistics(t, []float64{1, -1, 0.5, 0}, []float64{0.25, -0.75, 1, 1})
	exact := s.Vector()
	noise := make([][]float64, len(exact))
	e := seeded(17)
	for range releases {
		r := must.Get(Publish(t.Context(), s, testDesign(4), privacy, kind, Exact, e))(t)
		for i, z := range r.Statistics.Vector() {
			noise[i] = append(noise[i], (z-exact[i])/r.Noise.Scale)
		}
	}
	return noise
}

func checkSigns(t *testing.T, noise [][]float64) {
	t.Helper()
	for i, x := range noise {
		for j, y := range noise[:i] {
			agree := 0.0
			for k := range x {
				agree += math.Copysign(1, x[k]) * math.Copysign(1, y[k])
			}
			if math.Abs(agree) > 5.4*math.Sqrt(float64(len(x))) {
				t.Errorf("the signs of entries %d and %d agree %v times more often than not", j, i, agree)
			}
		}
	}
}

// laplaceCDF is the distribution function of the Laplace law of scale 1.
func laplaceCDF(x float64) float64 {
	p := math.Exp(-math.Abs(x)) / 2
	if x > 0 {
		return 1 - p
	}
	return p
}

// distanceTo is must.RootD over √n.
func distanceTo(x []float64, cdf func(float64) float64) float64 {
	return must.RootD(x, cdf) / math.Sqrt(float64(len(x)))
}
