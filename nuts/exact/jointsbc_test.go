package exact

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
)

// TestJointSBC is simulation-based calibration with three unequal custodians: rows,
// noise and boxes differ. Long form, whose -v prints coverage and p values, of one number of
// columns (1, 2, 3 or 10; a data set of three columns takes a second, of ten more than ten):
//
//	go test ./nuts/exact -run TestJointSBC/p=3 -sbc.long -v -timeout 12h
//
// Each of the four bounds of modeltest.Uniform has a false-alarm rate of 1e-6, over all cases and
// parameters of the long form 6e-3.
func TestJointSBC(t *testing.T) {
	trials, columns := testsize.Of(8, 27), []int{1}
	if *sbcLong {
		trials, columns = 500, []int{1, 2, 3, 10}
	}
	for _, p := range columns {
		for _, v := range variants {
			for _, counts := range []bool{false, true} {
				if (counts || v.partial && v.shared || testing.Short() && v != variants[1]) && !*sbcLong {
					continue
				}
				c := &modeltest.Custodians{Shape: model.Shape{P: p, Intercept: true}, Sites: modeltest.Unequal(3), Shared: v.shared, Partial: v.partial, Counts: counts}
				t.Run(fmt.Sprintf("p=%d %s n latent=%t", p, v, counts), func(t *testing.T) {
					t.Parallel()
					trials := setsAt(p, trials)
					if v.partial && !*sbcLong {
						trials = 15
					}
					chain := chainOf(4)
					if v.partial && *sbcLong { // the spread moves slower
						chain.Warmup, chain.Thin = 600, 10
					}
					names, ranks := jointRanks(t, 12, chain, trials, c.Draw, nil)
					modeltest.Report(t, names, ranks)
				})
			}
		}
	}
}

// jointRanks returns the ranks of each parameter over the trials, of problems with their truths, which the seed tells
// from those of other cases. fault, if not nil, spoils what the kernel is told; then the trials end where it is found.
func jointRanks(t *testing.T, seed uint64, chain modeltest.Chain, trials int, draw func(*rand.Rand) (truth []float64, problem *model.Joint), fault func(*model.Joint)) (names []string, ranks [][]float64) {
	t.Helper()
	ranks = modeltest.Calibrate(t, chain, trials, fault != nil, func(trial int) (mcmc.Kernel[nuts.Info], []float64, *rand.Rand) {
		rng := rand.New(rand.NewPCG(uint64(trial), seed))
		truth, problem := draw(rng)
		if fault != nil {
			fault(problem)
		}
		k := must.Get(newJointKernel(problem, rng))(t)
		names = problem.Names()
		return k, truth, rng
	})
	return names, ranks
}

// TestJointSBCFindsFaults: a release in units of its own, taken to be in common ones,
// is found.
func TestJointSBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	one := model.Shape{P: 1, Intercept: true}
	c := &modeltest.Custodians{Shape: one, Sites: modeltest.Unequal(3), Prior: model.Normal.BoxPrior(one)}
	_, ranks := jointRanks(t, 12, chainOf(4), 60, c.Draw, func(p *model.Joint) { p.Sites[2].Units = p.Sites[0].Units })
	if !modeltest.Unlike(ranks) {
		t.Error("units that were left out went unnoticed")
	}
}
