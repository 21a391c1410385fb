package nuts

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// InfoNames names the columns that Keep writes, as Stan has them.
var InfoNames = []string{"lp__", "accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__", "energy__"}

// Keep writes an Info in the order of InfoNames, for mcmc.Run.
func Keep(i Info, dst []float64) {
	copy(dst, []float64{i.LogDensity, i.Accept, i.StepSize, float64(i.Depth), float64(i.Leapfrogs), number.Indicator[float64](i.Divergent), i.Energy})
}

// Run runs chains that start begins, with these options, and says what their columns tell
// against them. Names are those of what a chain writes. Errors are those of start and of
// mcmc.Run, and those that the target returns.
func Run(ctx context.Context, names []string, start func(chain int, rng *rand.Rand) (*Sampler, error), o Options, plan mcmc.Plan) (*posterior.Draws, error) {
	begin := func(chain int, rng *rand.Rand) (mcmc.Kernel[Info], error) { return start(chain, rng) }
	draws, err := mcmc.Run(ctx, mcmc.Columns{Params: names, Info: InfoNames}, begin, Keep, plan)
	if draws != nil {
		draws.Warnings = append(draws.Warnings, Warnings(draws, o)...)
	}
	return draws, err
}

// lowEBFMI is the fraction of missing information that Stan warns of.
const lowEBFMI = 0.3

// Warnings says what the sampler's columns, named InfoNames, tell against the
// draws: divergences, trajectories at their greatest length, a low E-BFMI. It
// panics where d lacks one of those columns.
func Warnings(d *posterior.Draws, o Options) []string {
	var w []string
	divergent, depth, energy := InfoColumn(d, "divergent__"), InfoColumn(d, "treedepth__"), InfoColumn(d, "energy__")
	var total, diverged, longest int
	worst := math.Inf(1)
	for c := range energy {
		for i := range energy[c] {
			total++
			if divergent[c][i] != 0 {
				diverged++
			}
			if depth[c][i] >= float64(o.withDefaults().MaxDepth) {
				longest++
			}
		}
		if e := EBFMI(energy[c]); e < worst {
			worst = e
		}
	}
	if diverged > 0 {
		w = append(w, fmt.Sprintf("%d of %d transitions diverged: the draws may miss a part of the posterior that is too narrow for the step size", diverged, total))
	}
	if longest > 0 {
		w = append(w, fmt.Sprintf("%d of %d trajectories reached the greatest length, 2^%d steps: the chains mix slowly", longest, total, o.withDefaults().MaxDepth))
	}
	if worst < lowEBFMI {
		w = append(w, fmt.Sprintf("a chain's E-BFMI is %.2f, below %.1f: the tails may be explored badly", worst, lowEBFMI))
	}
	return w
}

// InfoColumn returns one of the sampler's columns by chain.
func InfoColumn(d *posterior.Draws, name string) [][]float64 {
	j, width := slices.Index(d.InfoNames, name), len(d.InfoNames)
	columns := make([][]float64, len(d.Info))
	for c, info := range d.Info {
		for i := j; i < len(info); i += width {
			columns[c] = append(columns[c], info[i])
		}
	}
	return columns
}

// EBFMI returns the energy Bayesian fraction of missing information of one chain
// (Betancourt 2016, arXiv:1604.00695), from the energies of its draws in order:
//
//	Σ_i (E_i − E_{i−1})² / Σ_i (E_i − Ē)².
//
// Below 0.3, redrawing the momentum changes the energy too little: the tails are
// heavier than trajectories reach. It is NaN for fewer than two draws or where
// the energy never changed.
func EBFMI(energy []float64) float64 {
	mean := 0.0
	for _, e := range energy {
		mean += e
	}
	mean /= float64(len(energy))
	var jumps, spread float64
	for i, e := range energy {
		if i > 0 {
			jumps += (e - energy[i-1]) * (e - energy[i-1])
		}
		spread += (e - mean) * (e - mean)
	}
	return jumps / spread
}
