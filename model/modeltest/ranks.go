package modeltest

import (
	"fmt"
	"math"
	"math/rand/v2"

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

// PValue is that of χ² of ranks in 10 cells.
func PValue(u []float64) float64 {
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

// Uniform returns an error where ranks are not uniform: by Coverage, by PValue, and by the mean and
// the mean square of their normal scores z = Φ⁻¹(u), which are standard normal where ranks are
// uniform; each with a false-alarm rate of 1e-6. The mean finds a posterior that is off, the square
// one that is too narrow or too wide, the cells what else there is.
func Uniform(u []float64) error {
	if p := PValue(u); p < 1e-6 {
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
