package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
)

// TestSitesGradient compares the slopes followed with all (f, A) held with differences of
// the density that has them, and holds that (f, A) and the parameters give back s.
func TestSitesGradient(t *testing.T) {
	for _, c := range []modeltest.Custodians{
		{Shape: model.Shape{P: 2, Intercept: true}}, {Shape: model.Shape{P: 2, Intercept: true}, Shared: true}, {Shape: model.Shape{P: 3}},
	} {
		c.Sites = modeltest.Unequal(3)
		rng := rand.New(rand.NewPCG(51, 1))
		_, problem := c.Draw(rng)
		k := newExactSites(problem, rng)
		for _, s := range k.all {
			restores(t, c.Shared, s)
			for i := range s.regression.slope {
				s.regression.slope[i] = rng.NormFloat64()
			}
			if s.own != nil {
				copy(s.ancillary.phi, s.phi)
				checkSlope(t, s.own.target, s.phi[k.lead:], s)
			}
		}
		checkSlope(t, k.target, k.all[0].phi[:k.lead], k.all...)
		checkSlope(t, k.target.leaving(), k.all[0].phi[:k.lead], k.all...)
	}
}

// restores has a site hold its (f, A), and checks that they and the parameters give back s.
func restores(t *testing.T, shared bool, s *site) {
	t.Helper()
	if !s.ancillary.hold(s.phi) {
		t.Fatal("no coordinates")
	}
	again := make([]float64, s.q)
	s.ancillary.move(s.phi)
	s.ancillary.write(again)
	for i, v := range s.s {
		if d := again[i] - v; !(math.Abs(d) < 1e-9*s.n) {
			t.Errorf("shared=%t: statistic %d is off by %g", shared, i, d)
		}
	}
}

// checkSlope compares a slope at x with differences.
func checkSlope(t *testing.T, f target, at []float64, sites ...*site) {
	t.Helper()
	x, unused, slope := slices.Clone(at), make([]float64, len(at)), make([]float64, len(at))
	smooth := func() float64 { // the density whose slope is followed
		logp := f.LogDensity(unused, x)
		for _, s := range sites {
			stats := make([]float64, s.q)
			s.ancillary.write(stats)
			logp += modeltest.Smoothing(s.obs, stats, len(sites))
		}
		return logp
	}
	smooth() // the statistics at x
	for _, s := range sites {
		stats := make([]float64, s.q)
		s.ancillary.write(stats)
		s.alone.Reach(stats)
		s.among.Reach(stats)
	}
	f.LogDensity(slope, x)
	for i := range x {
		const h = 1e-5
		x[i] = at[i] + h
		up := smooth()
		x[i] = at[i] - h
		down := smooth()
		x[i] = at[i]
		if d := (up - down) / (2 * h); !(math.Abs(slope[i]-d) < 1e-4*(1+math.Abs(d))) {
			t.Errorf("%T: slope %d of %d is %g, by differences %g", f, i, len(x), slope[i], d)
		}
	}
}

// TestSitesSBC is simulation-based calibration with three unequal custodians. Long
// form, whose -v prints coverage:
//
//	go test ./gibbs -run SitesSBC -sbc.long -v -timeout 4h
//
// Each of the four bounds of modeltest.Uniform has a false-alarm rate of 1e-6.
func TestSitesSBC(t *testing.T) {
	testsize.Full(t, "TestSitesInvariance is of the same kernel, and sharper")
	trials, columns := 31, []int{1}
	if *sbcLong {
		trials, columns = 500, []int{1, 2}
	}
	for _, p := range columns {
		for _, shared := range []bool{false, true} {
			for _, counts := range []bool{false, true} {
				if counts && !*sbcLong {
					continue
				}
				c := &modeltest.Custodians{Shape: model.Shape{P: p, Intercept: true}, Sites: modeltest.Unequal(3), Shared: shared, Counts: counts}
				t.Run(fmt.Sprintf("p=%d shared=%t n latent=%t", p, shared, counts), func(t *testing.T) {
					chain := modeltest.Chain{Warmup: 500, Draws: 39, Thin: 10}
					if counts {
						chain.Warmup, chain.Thin = 1000, 60 // n moves slower
					}
					var names []string
					ranks := modeltest.Calibrate(t, chain, trials, false, func(trial int) (mcmc.Kernel[Info], []float64, *rand.Rand) {
						rng := rand.New(rand.NewPCG(uint64(trial), 13))
						truth, problem := c.Draw(rng)
						names = problem.Names()
						return continuous{newExactSites(problem, rng), rng}, truth, rng
					})
					modeltest.Report(t, names, ranks)
				})
			}
		}
	}
}

// continuous is a chain whose draws of a whole n have a uniform part of ±½ added, as the truth
// has: among ties its ranks would not be uniform.
type continuous struct {
	*exactSites
	rng *rand.Rand
}

// Params writes the parameters, the numbers of rows last.
func (k continuous) Params(dst []float64) {
	k.exactSites.Params(dst)
	at := len(dst)
	for _, s := range k.all {
		if s.obs.Count.Latent() {
			at--
			dst[at] += k.rng.Float64() - 0.5
		}
	}
}

// TestSitesAllocate: no sweep does.
func TestSitesAllocate(t *testing.T) {
	for _, c := range []alike{{4, 2, 1000, 1, false}, {4, 2, 1000, 1, true}} {
		for _, name := range []Kernel{Plain, Exact} {
			rng := rand.New(rand.NewPCG(51, 2))
			k := c.start(name, 200, rng)
			if n := testing.AllocsPerRun(20, func() { k.Step(rng) }); n != 0 {
				t.Errorf("%s, %v: %g allocations a sweep", name, c, n)
			}
		}
	}
}
