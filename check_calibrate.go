package dpreg

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

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

// calibrate ranks the p-values of z among those of K releases simulated at draws of
// the posterior: of the entries, then of the blocks.
func (f *Fit) calibrate(ctx context.Context, o CheckOptions) ([]float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := make([][]float64, o.Calibrate+1)
	next, finished := make(chan int), 0
	var group sync.WaitGroup
	var mutex sync.Mutex
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	for range min(workers, len(p)) {
		group.Go(func() {
			for k := range next {
				values, err := f.refit(ctx, o.Seed, k)
				if err != nil {
					cancel(err)
					continue
				}
				mutex.Lock()
				p[k] = values
				finished++
				if o.Progress != nil {
					o.Progress(finished, len(p))
				}
				mutex.Unlock()
			}
		})
	}
	for k := range p {
		next <- k
	}
	close(next)
	group.Wait()
	if err := context.Cause(ctx); err != nil {
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

// refit returns the p-values of a release simulated at a draw of the posterior; of
// z itself for k = 0.
func (f *Fit) refit(ctx context.Context, seed uint64, k int) ([]float64, error) {
	r, rng := f.Release, mcmc.Stream(seed, k+1)
	if k > 0 {
		rows := f.checkDraws()
		var err error
		if r, err = f.simulated(rows[rng.IntN(len(rows))], rng); err != nil {
			return nil, err
		}
	}
	o := Options{Method: f.Method, Kernel: f.Kernel, Prior: f.Prior, Plan: refitPlan()}
	o.Plan.Seed = rng.Uint64()
	fit, err := Infer(ctx, r, o)
	if err != nil {
		return nil, err
	}
	obs, err := model.Observe(r)
	if err != nil {
		return nil, err
	}
	return newChecker(obs).run(ctx, fit.checkDraws(), rng)
}

// simulated is a release that follows the model at a draw of the posterior.
func (f *Fit) simulated(row []float64, rng *rand.Rand) (*release.Release, error) {
	obs, err := model.Observe(f.Release)
	if err != nil {
		return nil, err
	}
	c := newChecker(obs)
	if !c.given(row) {
		return nil, errNoReplicate
	}
	c.draw(c.rep, rng)
	r := *f.Release
	r.Simulated = true
	if r.NNoise > 0 {
		r.N = int64(math.Round(c.n + drawNoise(r.Noise.Kind, r.NNoise, rng)))
	}
	r.Statistics = release.StatisticsFromVector(r.Dim(), c.rep)
	return &r, nil
}
