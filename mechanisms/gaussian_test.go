package mechanisms

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

func gaussianDraws(t testing.TB, sigma *big.Rat, n int, seed uint64) []*big.Int {
	t.Helper()
	return drawn(t, Gaussian, sigma, n, rand.NewPCG(seed, 2))
}

var sigmas = map[string]*big.Rat{
	"3/10":     big.NewRat(3, 10),
	"1":        big.NewRat(1, 1),
	"7/2":      big.NewRat(7, 2),
	"1000/7":   big.NewRat(1000, 7),
	"3.7*2^40": new(big.Rat).Mul(big.NewRat(37, 10), big.NewRat(1<<40, 1)),
	"10^30/3":  new(big.Rat).SetFrac(new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil), big.NewInt(3)),
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// cells returns a partition of the integers into about 64 cells of about the same
// probability under R(σX), as the last integer of each but the last cell, and
// those probabilities. None is below 1/128.
func cells(sigma float64) (edges, probability []float64) {
	const most = 64
	below := 0.0
	for x := math.Floor(-2.5 * sigma); x <= 2.5*sigma; x += math.Max(1, math.Floor(sigma/256)) {
		p := normalCDF((x + 0.5) / sigma)
		if p-below >= 1./most && 1-p >= 1./(2*most) {
			edges, probability = append(edges, x), append(probability, p-below)
			below = p
		}
	}
	return edges, append(probability, 1-below)
}

// cellTest returns the p-value of a chi-square test of the draws against the
// exact law of R(σX).
func cellTest(z []*big.Int, sigma float64) float64 {
	edges, probability := cells(sigma)
	count := make([]float64, len(probability))
	for _, v := range z {
		x, _ := v.Float64()
		i, _ := slices.BinarySearch(edges, x)
		count[i]++
	}
	return chiSquare(count, probability)
}

func TestGaussianFits(t *testing.T) {
	for name, sigma := range sigmas {
		s, _ := sigma.Float64()
		z := gaussianDraws(t, sigma, testsize.Of(20000, 60000), 21)
		if p := cellTest(z, s); p < falseAlarm {
			t.Errorf("sigma %s: p = %g", name, p)
		}
		planted := new(big.Rat).Mul(sigma, big.NewRat(7, 10))
		if p := cellTest(gaussianDraws(t, planted, testsize.Of(20000, 60000), 21), s); p >= falseAlarm {
			t.Errorf("sigma %s: noise of 0.7 times sigma passes, p = %g", name, p)
		}
	}
}

// At σ = 3/10 every cell that can be told apart is one integer: exactly
// P(0) = 1 − 2Φ(−5/3) and P(±1), P(±2), ± 4.6 standard deviations (4e-6 each);
// |k| = 2 is expected 0.23 times, and 7 times with probability 5e-9.
func TestGaussianSmallCells(t *testing.T) {
	testsize.Full(t, "TestGaussianFits has small scales")
	const n = 400000
	count := map[int64]float64{}
	for _, v := range gaussianDraws(t, sigmas["3/10"], n, 22) {
		count[v.Int64()]++
	}
	for k := int64(-1); k <= 1; k++ {
		p := normalCDF((float64(k)+0.5)/0.3) - normalCDF((float64(k)-0.5)/0.3)
		if math.Abs(count[k]-n*p) > 4.6*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%d: %v of %d draws, want %.0f", k, count[k], n, n*p)
		}
	}
	if rest := n - count[-1] - count[0] - count[1]; rest > 6 {
		t.Errorf("%v draws beyond 1 at sigma 0.3", rest)
	}
}

// Kolmogorov–Smirnov where rounding cannot be seen: the probability that √n·D is
// above √(ln(2/α)/2) = 2.47 tends to α = 1e-5 from below.
func TestGaussianKolmogorovSmirnov(t *testing.T) {
	const n = 100000
	statistic := func(sigma *big.Rat) float64 {
		s, _ := sigmas["3.7*2^40"].Float64()
		x := make([]float64, n)
		for i, v := range gaussianDraws(t, sigma, n, 23) {
			x[i], _ = v.Float64()
		}
		return must.RootD(x, func(v float64) float64 { return normalCDF(v / s) })
	}
	sigma := sigmas["3.7*2^40"]
	if d := statistic(sigma); d > 2.47 {
		t.Errorf("root n D = %.3f", d)
	}
	if d := statistic(new(big.Rat).Mul(sigma, big.NewRat(97, 100))); d < 2.47 {
		t.Errorf("noise of 0.97 times sigma passes: root n D = %.3f", d)
	}
}

// The tails carry the privacy. Each side by itself, ± 4.7 standard deviations
// (3e-6 each; 9e-6 for Poisson counts of 32, in short 2.4e-5 for those of 13, and below 1e-4 in all).
func TestGaussianTails(t *testing.T) {
	testsize.Full(t, "TestGaussianKolmogorovSmirnov has the law")
	n := float64(testsize.Of(400_000, 1_000_000))
	sigma := sigmas["3.7*2^40"]
	s, _ := sigma.Float64()
	var x []float64
	for _, v := range gaussianDraws(t, sigma, int(n), 24) {
		f, _ := v.Float64()
		x = append(x, f/s)
	}
	for _, limit := range []float64{0, 1, 2, 3, 4} {
		want := n * normalCDF(-limit)
		for _, side := range []float64{-1, 1} {
			count := 0.0
			for _, v := range x {
				if side*v > limit {
					count++
				}
			}
			if math.Abs(count-want) > 4.7*math.Sqrt(want) {
				t.Errorf("beyond %v sigma on side %v: %v of %v draws, want %.0f", limit, side, count, n, want)
			}
		}
	}
}

// Whatever the digits: once round says that they decide, more digits do not
// change the integer, and it is within ½ of σ(k + x), in rational arithmetic.
func TestGaussianRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 2))
	undecided := 0
	for range 3000 {
		sigma := big.NewRat(1+rng.Int64N(1<<uint(1+rng.IntN(60))), 1+rng.Int64N(1<<uint(1+rng.IntN(20))))
		mechanism := must.Get(Gaussian(sigma))(t)
		s := mechanism.law(nil).(*gaussian)
		k := rng.Uint64N(9)
		digits, number := make(fraction, 16), new(big.Int)
		for i := range digits {
			digits[i] = rng.Uint64() & 255
			if rng.IntN(3) == 0 {
				digits[i] = []uint64{0, 127, 128, 255}[rng.IntN(4)]
			}
			number.Add(number.Lsh(number, byteDigits), new(big.Int).SetUint64(digits[i]))
		}
		if !s.round(new(big.Int), k, digits, byteDigits) {
			continue // on a tie to 128 bits: σ a power of two, say
		}
		y := new(big.Int)
		s.round(y, k, digits, byteDigits)
		x := new(big.Rat).SetFrac(number, new(big.Int).Lsh(one, 128))
		x.Add(x, new(big.Rat).SetUint64(k)).Mul(x, sigma)
		x.Sub(x, new(big.Rat).SetInt(y)).Abs(x)
		if x.Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("sigma %v, k %d, digits %v: rounded to %v, off by %v", sigma, k, digits, y, x)
		}
		got := new(big.Int)
		for i := range digits {
			if !s.round(got, k, digits[:i], byteDigits) {
				undecided++
			} else if got.Cmp(y) != 0 {
				t.Fatalf("sigma %v, k %d: %v is called decided by %d digits, and is %v", sigma, k, got, i, y)
			}
		}
	}
	if undecided == 0 {
		t.Error("nothing was ever undecided")
	}
}

func testNormalSampler(seed uint64) *normalSampler {
	return newNormalSampler(Simulated(rand.New(rand.NewPCG(seed, 3))).state, 0)
}

// frequency compares how often trial succeeds with p, ± 4.6 standard deviations
// (4e-6).
func frequency(t *testing.T, what string, p float64, trial func() bool) {
	t.Helper()
	const n = 60000
	hits := 0.0
	for range n {
		if trial() {
			hits++
		}
	}
	if math.Abs(hits-n*p) > 4.6*math.Sqrt(n*p*(1-p)) {
		t.Errorf("%s: %v of %d, want %.0f", what, hits, n, n*p)
	}
}

// The parts of Algorithm N, each with the probability that its comment states; x
// is fixed to its first digits, the others being drawn anew.
func TestNormalParts(t *testing.T) {
	s := testNormalSampler(31)
	frequency(t, "expHalf", math.Exp(-0.5), s.expHalf)
	for k := uint64(0); k <= 3; k++ {
		frequency(t, "geometric", math.Exp(-float64(k)/2), func() bool { return s.geometric() >= k })
		frequency(t, "expHalfAll", math.Exp(-float64(k)*(float64(k)-1)/2), func() bool { return s.expHalfAll(k) })
		for _, first := range []uint64{0, 77, 128, 255} {
			// Over the bits to come, x is uniform on an interval of length 1/256:
			// to 1e-6, the mean of a smooth function of x is its value at the middle.
			x, j := (float64(first)+0.5)/256, float64(k)
			fix := func() { s.x = append(s.x[:0], first) }
			frequency(t, "trial", (2*j+x)/(2*j+2), func() bool { fix(); return s.trial(k) })
			frequency(t, "acceptOnce", math.Exp(-x*(2*j+x)/(2*j+2)), func() bool { fix(); return s.acceptOnce(k) })
			frequency(t, "accept", math.Exp(-x*(2*j+x)/2), func() bool { fix(); return s.accept(k) })
		}
	}
}

// A comparison of two variates is fair, also where first digits agree, and says
// the same again.
func TestFractionLess(t *testing.T) {
	s, deep := testNormalSampler(32), 0
	frequency(t, "less", 0.5, func() bool {
		var f, g fraction
		s.begin(&f)
		less := s.less(&f, &g)
		if s.less(&f, &g) != less || s.less(&g, &f) == less {
			t.Fatal("a comparison changed its mind")
		}
		if len(f) > 1 {
			deep++
		}
		return less
	})
	// 60000/256 = 234 expected, ± 5 standard deviations.
	if deep < 158 || deep > 311 {
		t.Errorf("%d comparisons of 60000 needed a second digit", deep)
	}
}

func TestNormalWipes(t *testing.T) {
	s := testNormalSampler(33)
	for range 50 {
		s.draw()
	}
	s.wipe()
	for _, f := range []fraction{s.x, s.a, s.b, s.r} {
		for _, d := range f[:cap(f)] {
			if d != 0 {
				t.Fatal("digits outlive the call")
			}
		}
	}
}
