package gibbs

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

var sbcLong = flag.Bool("sbc.long", false, "simulation-based calibration on 500 data sets a case, p = 1 and 3")

const (
	sbcDraws  = 127 // ranks 0…127
	sbcThin   = 12  // sweeps between two of them
	countThin = 80  // where n is latent, which moves slower
)

// TestSBC is simulation-based calibration (Talts et al. 2018) of the default
// kernel: parameters, statistics and noise from the model, a chain from the
// release alone, the rank of each true parameter among thinned draws. Ranks are
// uniform, and central 95 % intervals cover in 95 % of the trials, if and only
// if the posterior is right. Long form, whose -v prints coverage:
//
//	go test ./gibbs -run SBC -sbc.long -v -timeout 2h
//
// Each bound (χ² of the ranks in 10 cells; coverage) has a false-alarm rate of
// 1e-6, some 1e-4 over all cases and parameters of the long form.
func TestSBC(t *testing.T) {
	trials, sizes := 60, []int{1}
	if *sbcLong {
		trials, sizes = 500, []int{1, 3}
	}
	for _, p := range sizes {
		for _, kind := range []release.Kind{release.Laplace, release.Gaussian} {
			for _, neighbours := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
				t.Run(fmt.Sprintf("p=%d %s %s", p, kind, neighbours), func(t *testing.T) {
					t.Parallel()
					sbc(t, p, trials, kind, neighbours)
				})
			}
		}
	}
}

func sbc(t *testing.T, p, trials int, kind release.Kind, neighbours release.Neighbours) {
	const n = 200
	privacy := release.Privacy{Epsilon: 1, Neighbours: neighbours}
	if kind == release.Gaussian {
		privacy.Delta = 1e-6
	}
	noise, err := ssp.Calibrate(p+1, privacy, kind, ssp.Exact)
	if err != nil {
		t.Fatal(err)
	}
	g := newJoint(t, p, n, noise.Scale)
	g.kind = kind
	if neighbours == release.AddRemove {
		g.count = noise.Scale
	}
	names := g.start(rand.New(rand.NewPCG(1, 1))).obs.Names()
	ranks := make([][]float64, len(names)) // in (0, 1), ties at random
	for trial := range trials {
		for j, u := range g.ranks(uint64(trial)) {
			ranks[j] = append(ranks[j], u)
		}
	}
	for j, name := range names {
		check95(t, name, ranks[j])
		checkUniform(t, name, ranks[j])
	}
}

// ranks does one trial.
func (g *joint) ranks(trial uint64) []float64 {
	rng := rand.New(rand.NewPCG(trial, 7))
	truth := g.start(rng)
	width := len(truth.obs.Names())
	want, got, below := make([]float64, width), make([]float64, width), make([]float64, width)
	truth.Params(want)
	k := newExact(truth.obs, g.prior, rng)
	warmup, thin := 500, sbcThin
	if truth.obs.Count.Latent() {
		warmup, thin = 1000, countThin
	}
	for i := range warmup {
		k.Step(rng)
		k.Adapt(i, warmup)
	}
	for range sbcDraws {
		for range thin {
			k.Step(rng)
		}
		k.Params(got)
		for j, v := range got {
			if v < want[j] || v == want[j] && rng.Float64() < 0.5 {
				below[j]++
			}
		}
	}
	for j := range below {
		below[j] = (below[j] + rng.Float64()) / (sbcDraws + 1)
	}
	return below
}

func check95(t *testing.T, name string, u []float64) {
	t.Helper()
	n, hits := float64(len(u)), 0.0
	for _, v := range u {
		if v > 0.025 && v < 0.975 {
			hits++
		}
	}
	t.Logf("| %s | %.1f %% |", name, 100*hits/n)
	b := distuv.Binomial{N: n, P: 0.95}
	if b.CDF(hits) < 5e-7 || 1-b.CDF(hits-1) < 5e-7 {
		t.Errorf("%s: 95 %% intervals cover in %g of %g trials", name, hits, n)
	}
}

func checkUniform(t *testing.T, name string, u []float64) {
	t.Helper()
	const cells = 10
	var count [cells]float64
	for _, v := range u {
		count[int(v*cells)]++
	}
	chi2, mean := 0.0, float64(len(u))/cells
	for _, c := range count {
		chi2 += (c - mean) * (c - mean) / mean
	}
	if p := 1 - (distuv.ChiSquared{K: cells - 1}).CDF(chi2); p < 1e-6 {
		t.Errorf("%s: ranks are not uniform: χ² = %.1f, %v", name, chi2, count)
	}
}
