package modeltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/mcmc"
)

// Chain says how long a chain of one trial of simulation-based calibration is.
type Chain struct{ Warmup, Draws, Thin int }

// Ranks warms a kernel up and returns, for each parameter, the rank of the truth
// among its thinned draws (Talts et al. 2018, arXiv:1804.06788), as a number in
// (0, 1), ties and place within the rank at random: uniform over trials if the
// posterior is right and draws are independent.
func Ranks[I any](k mcmc.Kernel[I], truth []float64, c Chain, rng *rand.Rand) []float64 {
	adapter, _ := k.(mcmc.Adapter)
	for i := range c.Warmup {
		k.Step(rng)
		if adapter != nil {
			adapter.Adapt(i, c.Warmup)
		}
	}
	draw, below := make([]float64, len(truth)), make([]float64, len(truth))
	for range c.Draws {
		for range c.Thin {
			k.Step(rng)
		}
		k.Params(draw)
		for j, v := range draw {
			if v < truth[j] || v == truth[j] && rng.Float64() < 0.5 {
				below[j]++
			}
		}
	}
	for j := range below {
		below[j] = (below[j] + rng.Float64()) / float64(c.Draws+1)
	}
	return below
}

// Calibrate returns the ranks of each parameter over trials, which begin starts and draws the
// truth of. A chain that fails ends the test. Trials of a planted fault end where it is found: that is
// asked after every other one, as they take long.
func Calibrate[I any](t testing.TB, c Chain, trials int, planted bool, begin func(trial int) (k mcmc.Kernel[I], truth []float64, rng *rand.Rand)) (ranks [][]float64) {
	t.Helper()
	for trial := range trials {
		k, truth, rng := begin(trial)
		if ranks == nil {
			ranks = make([][]float64, len(truth))
		}
		for j, u := range Ranks(k, truth, c, rng) {
			ranks[j] = append(ranks[j], u)
		}
		if f, ok := k.(mcmc.Failer); ok && f.Err() != nil {
			t.Fatal(f.Err())
		}
		if planted && trial%2 == 1 && Unlike(ranks) {
			break
		}
	}
	return ranks
}

// Unlike tells whether the ranks of a parameter are not uniform.
func Unlike(ranks [][]float64) bool {
	return slices.ContainsFunc(ranks, func(u []float64) bool { return Uniform(u) != nil })
}

// Report logs what share of 95 % intervals covers and the p value of χ², for each
// parameter, and fails where ranks are not uniform.
func Report(t testing.TB, names []string, ranks [][]float64) {
	t.Helper()
	for j, u := range ranks {
		t.Logf("| %s | %.1f %% | %.2g |", names[j], 100*Coverage(u), pValue(u))
		if err := Uniform(u); err != nil {
			t.Errorf("%s: %v", names[j], err)
		}
	}
}

// Coverage is the share of trials in which the central 95 % interval has the truth.
func Coverage(u []float64) float64 {
	hits := 0.0
	for _, v := range u {
		if v > 0.025 && v < 0.975 {
			hits++
		}
	}
	return hits / float64(len(u))
}

// cells are those of χ².
const cells = 10

// pValue is that of χ² of ranks in 10 cells.
func pValue(u []float64) float64 {
	chi2, mean := 0.0, float64(len(u))/cells
	for _, c := range count(u) {
		chi2 += (c - mean) * (c - mean) / mean
	}
	return distuv.ChiSquared{K: cells - 1}.Survival(chi2)
}

func count(u []float64) (count [cells]float64) {
	for _, v := range u {
		count[int(v*cells)]++
	}
	return count
}

// Uniform returns an error where ranks are not uniform: by Coverage, by pValue, and by the mean and
// the mean square of their normal scores z = Φ⁻¹(u), which are standard normal where ranks are
// uniform; each with a false-alarm rate of 1e-6. The mean finds a posterior that is off, the square
// one that is too narrow or too wide, the cells what else there is.
func Uniform(u []float64) error {
	if p := pValue(u); p < 1e-6 {
		return fmt.Errorf("ranks are not uniform: p = %.1g, %v", p, count(u))
	}
	n := float64(len(u))
	hits := math.Round(n * Coverage(u))
	if b := (distuv.Binomial{N: n, P: 0.95}); b.CDF(hits) < 5e-7 || 1-b.CDF(hits-1) < 5e-7 {
		return fmt.Errorf("95 %% intervals cover in %g of %g trials", hits, n)
	}
	sum, square := 0.0, 0.0
	for _, v := range u {
		z := distuv.UnitNormal.Quantile(v)
		sum, square = sum+z, square+z*z
	}
	if distuv.UnitNormal.Survival(math.Abs(sum)/math.Sqrt(n)) < 5e-7 {
		return fmt.Errorf("normal scores of the ranks have a mean of %.2g over %g trials", sum/n, n)
	}
	if c := (distuv.ChiSquared{K: n}); c.CDF(square) < 5e-7 || c.Survival(square) < 5e-7 {
		return fmt.Errorf("normal scores of the ranks have a mean square of %.2g over %g trials", square/n, n)
	}
	return nil
}
