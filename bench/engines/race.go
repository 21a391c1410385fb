//go:build unix

package main

import (
	"context"
	"errors"
	"runtime"
	"syscall"
	"time"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// cell is a place in the grid.
type cell struct {
	p, n    int
	epsilon float64
}

// The grid. It has more rows than columns and one more: statistics of fewer have no density,
// and there is one engine.
var (
	covariates = []int{1, 5}
	epsilons   = []float64{0.1, 1}
	rows       = []int{100, 10000}
)

func cells() (all []cell) {
	for _, p := range covariates {
		for _, epsilon := range epsilons {
			for _, n := range rows {
				all = append(all, cell{p, n, epsilon})
			}
		}
	}
	return all
}

// The streams of the random numbers, the same in every cell.
const (
	parameterStream = iota
	rowStream
	noiseStream
)

// problem simulates a release: parameters from the box prior, statistics of n
// rows by their exact law, and noise for ε.
func (c cell) problem(ctx context.Context, seed uint64) (*model.Problem, error) {
	shape := model.Shape{P: c.p, Intercept: true}
	prior, x, law := model.BoxPrior(shape), model.NewParams(shape), model.NewMoments(shape)
	model.NewConditionals(shape, prior, true).DrawPrior(x, mcmc.Stream(seed, parameterStream))
	law.Set(x)
	if !law.Factor() {
		return nil, errors.New("the parameters drawn have a covariance that is singular in float64; take another -seed")
	}
	v := make([]float64, shape.Statistics())
	law.RandExact(v, float64(c.n), mcmc.Stream(seed, rowStream))
	exact, err := ssp.FromVector(shape.M(), int64(c.n), v)
	if err != nil {
		return nil, err
	}
	privacy := release.Privacy{Epsilon: c.epsilon, Neighbours: release.ReplaceOne}
	noise := mechanisms.Simulated(mcmc.Stream(seed, noiseStream))
	r, err := ssp.Publish(ctx, exact, dpreg.UnitDesign(c.p), privacy, release.Laplace, ssp.Exact, noise)
	if err != nil {
		return nil, err
	}
	return &model.Problem{Releases: []*release.Release{r}, Prior: prior}, nil
}

// engine is one that is compared.
type engine struct {
	name   string
	method model.Method
}

// engines are those of the exact posterior, then another.
var engines = []engine{
	{"mcmc-exact", exact.Method{}},
	{"mcmc-ind", individual.Method{}},
	{"gibbs-ss-update", gibbs.Method{Moments: gibbs.Update}},
	{"--kernel plain", gibbs.Method{Moments: gibbs.Update, Kernel: gibbs.Plain}},
}

// mostIndividuals is the most rows on which mcmc-ind is run.
const mostIndividuals = 1000

// outcome is what one engine did on one release.
type outcome struct {
	left           bool    // not run
	warmupCut, cut bool    // by the limit: in warm-up, then there is nothing below; in sampling
	warmup         float64 // CPU seconds, of all chains
	sampling       float64
	draws          *posterior.Draws
	least, slope   float64 // effective draws a CPU second of sampling, the smaller of bulk and tail: over all parameters, of θ₁
}

// race runs the engines in turn on the release of a cell.
func (s *settings) race(ctx context.Context, c cell) (all []outcome, err error) {
	problem, err := c.problem(ctx, s.plan.Seed)
	if err != nil {
		return nil, err
	}
	for _, e := range engines {
		o := outcome{left: e.method == (individual.Method{}) && c.n > mostIndividuals}
		if !o.left {
			err = o.run(ctx, e.method, problem, s)
		}
		if err != nil {
			return nil, err
		}
		if o.draws != nil && !o.warmupCut {
			slope := o.draws.Column(o.draws.Index("theta[1]"))
			least, _ := o.draws.MinESS(1)
			o.least, o.slope = least/o.sampling, min(posterior.ESSBulk(slope), posterior.ESSTail(slope))/o.sampling
		}
		o.draws = nil // of all cells they would fill the memory
		all = append(all, o)
	}
	return all, nil
}

// warmupShare is what warm-up may take: so many limits.
const warmupShare = 2

// fewest is the number of draws of a chain that say something.
const fewest = 20

// run runs the method twice from the same seed: to the first draw, and to the end.
// The difference of the CPU times is that of sampling.
func (o *outcome) run(ctx context.Context, m model.Method, problem *model.Problem, s *settings) (err error) {
	first := s.plan
	first.ESS, first.Draws = 0, 1
	if _, o.warmup, o.warmupCut, err = timed(ctx, m, problem, first, warmupShare*s.limit); err != nil || o.warmupCut {
		return err
	}
	whole := 0.0
	o.draws, whole, o.cut, err = timed(ctx, m, problem, s.plan, o.warmup+s.limit)
	o.sampling, o.warmupCut = whole-o.warmup, err == nil && o.draws.NumDraws() < fewest
	return err
}

// errLimit ends a run that takes too long.
var errLimit = errors.New("the limit of CPU seconds is reached")

// timed runs a method until its plan is done or a limit of CPU seconds is reached;
// the chains, as many as the plan's workers, have then come about as far as each
// other.
func timed(ctx context.Context, m model.Method, problem *model.Problem, plan mcmc.Plan, limit float64) (draws *posterior.Draws, seconds float64, cut bool, err error) {
	runtime.GC() // each run pays for its own garbage
	before, err := cpu()
	if err != nil {
		return nil, 0, false, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	plan.Progress = func(mcmc.Progress) {
		if now, err := cpu(); err != nil {
			cancel(err)
		} else if (now - before).Seconds() > limit {
			cancel(errLimit)
		}
	}
	draws, err = m.Sample(ctx, problem, plan)
	if err != nil && context.Cause(ctx) == errLimit {
		cut, err = true, nil
	}
	if err != nil {
		return nil, 0, false, err
	}
	after, err := cpu()
	return draws, (after - before).Seconds(), cut, err
}

// cpu is the CPU time of this process so far, its own and the system's for it.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
