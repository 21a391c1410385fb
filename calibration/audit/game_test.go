package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// What an optimal guesser finds of randomised response is e^ε/(1+e^ε), and the bound on ε
// covers: at level 0.05 it is above ε in 0.05 of 2000 cases at most, within 4.3 standard errors.
func TestBoundCovers(t *testing.T) {
	const epsilon, delta, level, cases = 1.0, 0.05, 0.05, 2000
	truth := math.Exp(epsilon) / (1 + math.Exp(epsilon))
	rng := rand.New(rand.NewPCG(3, 3))
	above := [3]int{}
	for range cases {
		var pure, approximate score
		for range 300 {
			g := guess{ratio: 1, first: rng.Float64() < truth}
			pure.add(g, 1)
			// With probability δ the data are betrayed, else randomised response.
			if rng.Float64() < delta {
				g.first = true
			}
			approximate.add(g, 1)
		}
		for i, b := range []bool{pure.epsilon(0, level) > epsilon, approximate.epsilon(delta, level) > epsilon, approximate.delta(epsilon, level) > delta} {
			if b {
				above[i]++
			}
		}
	}
	limit := cases*level + 4.3*math.Sqrt(cases*level*(1-level))
	for i, n := range above {
		if float64(n) > limit {
			t.Errorf("bound %d is above the truth in %d of %d cases, at most %.0f expected", i, n, cases, limit)
		}
	}
	if above[0] < cases*level/4 {
		t.Errorf("the bound is above the truth in %d of %d cases only: it is not the exact one", above[0], cases)
	}
}

// The laws are those of the mechanisms: cells hold all of the probability, and the
// log-likelihood ratio is that of the probabilities.
func TestLaw(t *testing.T) {
	for _, l := range []law{{release.Laplace, 3, 1}, {release.Gaussian, 3.5, 1}, {release.Gaussian, 200, 1}} {
		mass := func(k float64) float64 { return l.cdf(k) - l.cdf(k-1) }
		total := 0.0
		for k := -4000.0; k <= 4000; k++ {
			total += mass(k)
		}
		if math.Abs(total-1) > 1e-12 {
			t.Errorf("%+v: probabilities add up to %v", l, total)
		}
		for _, k := range []float64{-5, 0, 1, 4} {
			want := math.Log(mass(k) / mass(k+2))
			got := l.logRatio(k, k+2)
			if l.kind == release.Laplace {
				got /= l.scale
			}
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("%+v at %v: log ratio %v, want %v", l, k, got, want)
			}
		}
		for _, most := range []int{4, 64} {
			c, sum := l.cells(most), 0.0
			for _, p := range c.probability {
				sum += p
			}
			if math.Abs(sum-1) > 1e-12 || len(c.probability) > most || len(c.edges) != len(c.probability)-1 {
				t.Errorf("%+v: %d cells of probability %v", l, len(c.probability), sum)
			}
		}
	}
	// Where densities stand for probabilities, they have the same ratio.
	fine, rounded := law{release.Gaussian, 3 << 20, 1}, law{release.Gaussian, 3 << 18, 1}
	if a, b := fine.logRatio(1<<20, 5<<20), rounded.logRatio(1<<18, 5<<18); math.Abs(a-b) > 1e-6 {
		t.Errorf("log ratios %v and %v", a, b)
	}
}
