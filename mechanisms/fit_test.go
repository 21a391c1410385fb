package mechanisms

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"

	"gonum.org/v1/gonum/stat/distuv"
)

// falseAlarm is the probability with which a correct sampler fails a test below,
// were its seed not fixed.
const falseAlarm = 1e-5

// draws returns n variates of scale t from a seeded source.
func draws(t testing.TB, scale *big.Rat, n int, seed uint64) []*big.Int {
	t.Helper()
	return drawn(t, Laplace, scale, n, rand.NewPCG(seed, 1))
}

// drawn is noise of a law.
func drawn(t testing.TB, of func(*big.Rat) (Mechanism, error), scale *big.Rat, n int, seed rand.Source) []*big.Int {
	t.Helper()
	mechanism := must.Get(of(scale))(t)
	z := make([]*big.Int, n)
	for i := range z {
		z[i] = new(big.Int)
	}
	mechanism.AddNoise(z, Simulated(rand.New(seed)))
	return z
}

// laplaceCDF is P(Y ≤ k) of the discrete Laplace law of scale t: with
// q = e^{−1/t}, q^{−k}/(1+q) for k < 0 and 1 − q^{k+1}/(1+q) for k ≥ 0.
func laplaceCDF(k, t float64) float64 {
	q := math.Exp(-1 / t)
	if k < 0 {
		return math.Exp(k/t) / (1 + q)
	}
	return 1 - math.Exp(-(k+1)/t)/(1+q)
}

// goodnessOfFit returns the p-value of a chi-square test of the draws against
// the exact law of scale t, in at most 64 bins of about the same probability.
// An expected count is at least n/128.
func goodnessOfFit(z []*big.Int, t float64) float64 {
	const bins = 64
	var edges, probability []float64
	below := 0.0
	for i := 1; i < bins; i++ {
		u := float64(i) / bins
		x := math.Floor(t * math.Log(2*u))
		if u > 0.5 {
			x = math.Floor(-t * math.Log(2*(1-u)))
		}
		p := laplaceCDF(x, t)
		if p-below >= 1./(2*bins) && 1-p >= 1./(2*bins) {
			edges, probability = append(edges, x), append(probability, p-below)
			below = p
		}
	}
	probability = append(probability, 1-below)
	count := make([]float64, len(probability))
	for _, v := range z {
		x, _ := new(big.Float).SetInt(v).Float64()
		i := 0
		for i < len(edges) && x > edges[i] {
			i++
		}
		count[i]++
	}
	return chiSquare(count, probability)
}

// chiSquare returns the p-value of Pearson's test of counts.
func chiSquare(count, probability []float64) float64 {
	n, sum := 0.0, 0.0
	for _, c := range count {
		n += c
	}
	for i, c := range count {
		e := n * probability[i]
		sum += (c - e) * (c - e) / e
	}
	return distuv.ChiSquared{K: float64(len(count) - 1)}.Survival(sum)
}

var scales = map[string]*big.Rat{
	"1/50":      big.NewRat(1, 50),
	"1/3":       big.NewRat(1, 3),
	"1":         big.NewRat(1, 1),
	"7/2":       big.NewRat(7, 2),
	"1000/7":    big.NewRat(1000, 7),
	"5.33*2^40": new(big.Rat).Mul(big.NewRat(533, 100), big.NewRat(1<<40, 1)),
	"10^30/3":   new(big.Rat).SetFrac(new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil), big.NewInt(3)),
}

func TestLaplaceFits(t *testing.T) {
	for name, scale := range scales {
		s, _ := scale.Float64()
		if s < 0.1 {
			continue // one bin; TestLaplaceSmallestScale
		}
		if p := goodnessOfFit(draws(t, scale, 40000, 11), s); p < falseAlarm {
			t.Errorf("scale %s: p = %g", name, p)
		}
	}
}

// At scale 1/50 P(0) = tanh(25): of 10⁴ draws one differs from 0 with
// probability 4e-18.
func TestLaplaceSmallestScale(t *testing.T) {
	for _, v := range draws(t, scales["1/50"], 10000, 3) {
		if v.Sign() != 0 {
			t.Fatal("a draw at scale 1/50 is not 0")
		}
	}
}

// A wrong scale must not pass: the checker itself is under test.
func TestCheckerSeesTooLittleNoise(t *testing.T) {
	testsize.Planted(t)
	for name, scale := range scales {
		s, _ := scale.Float64()
		if s < 0.1 {
			continue
		}
		planted := new(big.Rat).Mul(scale, big.NewRat(7, 10))
		if p := goodnessOfFit(draws(t, planted, 40000, 11), s); p >= falseAlarm {
			t.Errorf("scale %s: noise of 0.7 times the scale passes, p = %g", name, p)
		}
	}
}

// Tails carry the privacy: beyond x = 3t, 6t and 9t the counts must be those of
// the law, ± 4.6 standard deviations (two-sided normal, 5e-6 each; where counts
// are small the bound is Poisson's and still below 1e-4 in all).
func TestLaplaceTails(t *testing.T) {
	n := testsize.Of(100_000, 400_000)
	scale := scales["5.33*2^40"]
	s, _ := scale.Float64()
	z := draws(t, scale, n, 5)
	for _, multiple := range []float64{3, 6, 9} {
		limit, _ := big.NewFloat(multiple * s).Int(nil)
		count := 0.0
		for _, v := range z {
			if v.CmpAbs(limit) > 0 {
				count++
			}
		}
		want := float64(n) * math.Exp(-multiple)
		if math.Abs(count-want) > 4.6*math.Sqrt(want) {
			t.Errorf("beyond %v scales: %v of %v draws, want %.0f", multiple, count, n, want)
		}
	}
}
