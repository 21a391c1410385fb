package check

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// refitPlan is how long a refit runs. Its 1000 draws leave a Monte Carlo error in
// its p-values, which those of z have as well: z is refitted in the same way, so
// that the error costs power and not calibration.
func refitPlan() mcmc.Plan {
	return mcmc.Plan{Chains: 2, Warmup: 500, Draws: 500, Workers: 1}
}

// calibrate ranks the p-values of z among those of K times releases simulated at draws of
// the posterior, in the order of checkers.run.
func calibrate(ctx context.Context, f *dpreg.Fit, o Options, draws [][][]float64) ([]float64, error) {
	p := make([][]float64, o.Calibrate+1)
	err := parallel.Each(ctx, o.Workers, len(p), o.Progress, func(ctx context.Context, k int) (err error) {
		p[k], err = refit(ctx, f, o.Seed, k, draws)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ranks(p), nil
}

// ranks are those of p[0] among all, from 1/(K+1) to 1, ties in disfavour of
// finding anything.
func ranks(p [][]float64) []float64 {
	out := make([]float64, len(p[0]))
	for i, own := range p[0] {
		below := 0
		for _, other := range p {
			if other[i] <= own {
				below++
			}
		}
		out[i] = float64(below) / float64(len(p))
	}
	return out
}

// refit returns the p-values of releases simulated at one of the draws; of z itself for
// k = 0.
func refit(ctx context.Context, f *dpreg.Fit, seed uint64, k int, draws [][][]float64) ([]float64, error) {
	custodians, rng := f.Custodians, mcmc.Stream(seed, k+1)
	if k > 0 {
		var err error
		if custodians, err = simulated(custodians, draws[rng.IntN(len(draws))], rng); err != nil {
			return nil, err
		}
	}
	o := f.Options()
	o.Plan = refitPlan()
	o.Plan.Seed = rng.Uint64()
	fit, err := dpreg.Infer(ctx, custodians, o)
	if err != nil {
		return nil, err
	}
	c, err := newCheckers(custodians)
	if err != nil {
		return nil, err
	}
	own, _, err := drawsOf(ctx, fit)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, own, rng)
}

// simulated are releases that follow the model at a draw, a row for each.
func simulated(custodians []dpreg.Custodian, rows [][]float64, rng *rand.Rand) ([]dpreg.Custodian, error) {
	c, err := newCheckers(custodians)
	if err != nil {
		return nil, err
	}
	if !c.given(rows) {
		return nil, errNoReplicate
	}
	out := make([]dpreg.Custodian, len(custodians))
	for j, site := range c.sites {
		site.draw(site.rep, rng)
		r := *custodians[j].Release
		r.Simulated = true
		if r.NNoise > 0 {
			r.N = int64(math.Round(site.n + model.RandNoise(r.Noise.Kind, r.NNoise, rng)))
		}
		r.Statistics = release.StatisticsFromVector(r.Dim(), site.rep)
		out[j] = dpreg.Custodian{Name: custodians[j].Name, Release: &r}
	}
	return out, nil
}
