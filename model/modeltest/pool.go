package modeltest

import (
	"math"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/posterior"
)

// Pooled returns mean and sd over the draws of all chains.
func Pooled(chains [][]float64) (mean, sd float64) {
	all := slices.Concat(chains...)
	for _, v := range all {
		mean += v
	}
	mean /= float64(len(all))
	for _, v := range all {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(all)-1))
}

func sortedPool(chains [][]float64) []float64 {
	all := slices.Concat(chains...)
	slices.Sort(all)
	return all
}

// Agree reports where two runs of the same posterior differ, in means and sds, by
// more than bound combined Monte Carlo errors.
func Agree(t *testing.T, a, b *posterior.Draws, bound float64) {
	t.Helper()
	if !slices.Equal(a.Names, b.Names) {
		t.Fatalf("parameters %v and %v", a.Names, b.Names)
	}
	for j, name := range a.Names {
		x, y := a.Column(j), b.Column(j)
		meanX, sdX := Pooled(x)
		meanY, sdY := Pooled(y)
		if z := (meanX - meanY) / math.Hypot(posterior.MCSEMean(x), posterior.MCSEMean(y)); !(math.Abs(z) < bound) {
			t.Errorf("%s: means %g and %g, %.2f combined errors apart", name, meanX, meanY, z)
		}
		if z := (sdX - sdY) / math.Hypot(posterior.MCSESD(x), posterior.MCSESD(y)); !(math.Abs(z) < bound) {
			t.Errorf("%s: sds %g and %g, %.2f combined errors apart", name, sdX, sdY, z)
		}
	}
}
