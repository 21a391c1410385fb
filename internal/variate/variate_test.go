package variate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// falseAlarm is the chance of a failure without a fault for one comparison.
// About a hundred are made in this package, on fixed seeds.
const falseAlarm = 1e-7

// zLimit is the standard normal quantile of falseAlarm, two-sided.
var zLimit = -distuv.UnitNormal.Quantile(falseAlarm / 2)

func source() *rand.Rand { return rand.New(rand.NewPCG(20, 26)) }

func draws(n int, f func() float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = f()
	}
	return x
}

// follows tests a sample against a continuous cdf by the Kolmogorov-Smirnov
// distance. P(D > t) ≤ 2 exp(−2nt²) for every n (Dvoretzky, Kiefer & Wolfowitz,
// with Massart's constant), so that the limit for falseAlarm needs no table.
func follows(t *testing.T, what string, x []float64, cdf func(float64) float64) {
	t.Helper()
	slices.Sort(x)
	n := float64(len(x))
	var d float64
	for i, v := range x {
		p := cdf(v)
		if !(p >= 0 && p <= 1+1e-12) {
			t.Fatalf("%s: cdf(%g) = %g", what, v, p)
		}
		d = max(d, p-float64(i)/n, float64(i+1)/n-p)
	}
	if limit := math.Sqrt(math.Log(2/falseAlarm) / (2 * n)); d > limit {
		t.Errorf("%s: Kolmogorov-Smirnov distance %.5f, limit %.5f", what, d, limit)
	}
}

// averages tests the mean of a sample against its expectation, given the
// standard deviation of one draw; n is large enough for the normal law.
func averages(t *testing.T, what string, x []float64, mean, sd float64) {
	t.Helper()
	var s float64
	for _, v := range x {
		s += v / float64(len(x))
	}
	if limit := zLimit * sd / math.Sqrt(float64(len(x))); !(math.Abs(s-mean) <= limit) {
		t.Errorf("%s: mean %g, expected %g ± %g", what, s, mean, limit)
	}
}

func BenchmarkGamma(b *testing.B) {
	for _, c := range []struct {
		name  string
		shape float64
	}{{"0.3", .3}, {"1", 1}, {"3", 3}, {"50", 50}} {
		b.Run("shape="+c.name, func(b *testing.B) {
			rng := source()
			for b.Loop() {
				Gamma(c.shape, rng)
			}
		})
	}
}

func BenchmarkLaplaceMixture(b *testing.B) {
	rng := source()
	for b.Loop() {
		LaplaceMixture(2, 3, rng)
	}
}

func BenchmarkLaplaceMixtureLogDensity(b *testing.B) {
	for b.Loop() {
		LaplaceMixtureLogDensity(1, 2, 3)
	}
}

func BenchmarkInverseWishartFactor(b *testing.B) {
	for _, c := range []struct {
		name string
		p    int
	}{{"1", 1}, {"2", 2}, {"5", 5}, {"10", 10}} {
		b.Run("p="+c.name, func(b *testing.B) {
			rng := source()
			chol, dst, work := identity(c.p), identity(c.p), identity(c.p)
			for b.Loop() {
				InverseWishartFactor(dst, chol, c.p, 20, work, rng)
			}
		})
	}
}

func BenchmarkWishartFactor(b *testing.B) {
	for _, c := range []struct {
		name string
		p    int
	}{{"2", 2}, {"5", 5}, {"10", 10}} {
		b.Run("p="+c.name, func(b *testing.B) {
			rng := source()
			dst := identity(c.p)
			for b.Loop() {
				WishartFactor(dst, c.p, 20, rng)
			}
		})
	}
}
