package calibration

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/testsize"
)

func uniformRanks(trials int, rng *rand.Rand) []int {
	ranks := make([]int, trials)
	for i := range ranks {
		ranks[i] = rng.IntN(Ranked + 1)
	}
	return ranks
}

// Uniform ranks stay inside with the probability that the walk computes, which is
// just above the level: both by 1000 simulations, to 4.5 standard errors.
func TestBandCovers(t *testing.T) {
	simulations := testsize.Of(400, 1000)
	for _, trials := range []int{20, 300} {
		band, rng, held, reject := NewBand(trials, 0.95), rand.New(rand.NewPCG(1, uint64(trials))), 0.0, 0.0
		w := newWalk(trials)
		for range simulations {
			ranks := uniformRanks(trials, rng)
			holds := true
			for i, c := range below(ranks) {
				holds = holds && c >= band.Lower[i] && c <= band.Upper[i]
			}
			if holds {
				held++
			}
			p := w.test(ranks)
			if p <= 0.05 {
				reject++
			}
			if (p > 0.05) != holds && math.Abs(p-0.05) > 1e-9 {
				t.Fatalf("the band says %v, the test p = %v", holds, p)
			}
		}
		error4 := 4.5 * math.Sqrt(0.05*0.95/float64(simulations))
		if share := held / float64(simulations); share < 0.95-error4 || share > 0.97+error4 {
			t.Errorf("%d trials: %v inside", trials, share)
		}
		if share := reject / float64(simulations); share > 0.05+error4 {
			t.Errorf("%d trials: %v rejected", trials, share)
		}
	}
}

// One trial: C_i is 0 or 1, and with every γ_i above γ = 0 nothing is excluded.
func TestBandOfOneTrial(t *testing.T) {
	if got := newWalk(1).inside(0); math.Abs(got-1) > 1e-12 {
		t.Errorf("the walk's law sums to %v", got)
	}
	if got := newWalk(500).inside(0); math.Abs(got-1) > 1e-9 {
		t.Errorf("the walk's law sums to %v", got)
	}
}

// γ is what it is defined to be.
func TestPointwise(t *testing.T) {
	w := newWalk(300)
	for _, i := range []int{0, 5, 63, 126} {
		law := distuv.Binomial{N: 300, P: float64(i+1) / (Ranked + 1)}
		for c := range 301 {
			want := 2 * min(law.CDF(float64(c)), 1-law.CDF(float64(c)-1))
			if got := w.gamma[i][c]; math.Abs(got-want) > 1e-9 {
				t.Fatalf("γ_%d(%d) = %v, want %v", i+1, c, got, want)
			}
		}
	}
}

// Ranks that are not uniform are found out.
func TestWalkFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	narrow, shifted := make([]int, 300), make([]int, 300)
	for i := range narrow {
		u := rng.Float64()
		narrow[i] = int(128 * (0.5 - 0.5*math.Cos(math.Pi*u))) // too few in the middle
		shifted[i] = int(128 * math.Pow(u, 1.4))
	}
	for name, ranks := range map[string][]int{"narrow": narrow, "shifted": shifted} {
		if p := newWalk(len(ranks)).test(ranks); p > 1e-4 {
			t.Errorf("%s: p = %v", name, p)
		}
	}
}
