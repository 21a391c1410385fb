//go:build unix

package main

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/posterior"
)

// engine is one that is compared.
type engine struct {
	name   string
	method model.Method
}

var engines = []engine{
	{"mcmc-exact", exact.Method{}},
	{"mcmc-ind", individual.Method{}},
	{"gibbs-ss-update", gibbs.Method{Moments: gibbs.Update}},
	{"--kernel plain", gibbs.Method{Moments: gibbs.Update, Kernel: gibbs.Plain}},
}

// outcome is what one engine did on one release.
type outcome struct {
	cell
	release int
	engine  string

	warmupCut, cut bool    // by the limit: in warm-up, then all below is NaN; in sampling
	warmup         float64 // CPU seconds, of all chains
	sampling       float64
	draws          int
	least, slope   float64 // effective draws, the smaller of bulk and tail: over all parameters, of θ₁
	rhat           float64 // largest
	leapfrogs      float64 // a draw
	divergent      float64 // share of draws
	correction     float64 // mean acceptance of the Gibbs kernel's correction
	apart          distance
}

// race runs the engines in turn on release k of a cell, after the reference.
func (s *settings) race(ctx context.Context, c cell, k int) ([]outcome, error) {
	problem, err := c.problem(ctx, s.seed, k)
	if err != nil {
		return nil, err
	}
	reference, err := timed(ctx, exact.Method{}, problem, s.reference, referenceShare*s.limit)
	if err != nil {
		return nil, err
	}
	var all []outcome
	for _, e := range engines {
		if _, ok := e.method.(individual.Method); ok && float64(c.n) > s.individual {
			continue
		}
		o := outcome{cell: c, release: k + 1, engine: e.name}
		if err := o.run(ctx, e.method, problem, s, reference.draws); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// What warm-up, and the whole of a reference, may take: so many limits.
const (
	warmupShare    = 2
	referenceShare = 3
)

// fewest is the number of draws of a chain that say something.
const fewest = 20

// run runs the method twice from the same seed: to the first draw, and to the end.
// The difference of the CPU times is that of sampling.
func (o *outcome) run(ctx context.Context, m model.Method, problem *model.Problem, s *settings, reference *posterior.Draws) error {
	first := s.plan
	first.ESS, first.Draws = 0, 1
	warmup, err := timed(ctx, m, problem, first, warmupShare*s.limit)
	if err != nil {
		return err
	}
	o.warmup, o.warmupCut = warmup.seconds, warmup.cut
	if o.warmupCut {
		return nil
	}
	whole, err := timed(ctx, m, problem, s.plan, warmup.seconds+s.limit)
	if err != nil {
		return err
	}
	o.sampling, o.cut = whole.seconds-warmup.seconds, whole.cut
	if o.warmupCut = whole.draws.NumDraws() < fewest; !o.warmupCut {
		o.read(whole.draws)
		o.apart = apart(whole.draws, reference, o.p)
	}
	return nil
}

// read takes what the draws say.
func (o *outcome) read(d *posterior.Draws) {
	o.draws = d.NumChains() * d.NumDraws()
	o.least, _ = d.MinESS(1)
	slope := d.Column(d.Index("theta[1]"))
	o.slope = min(posterior.ESSBulk(slope), posterior.ESSTail(slope))
	for j := range d.Names {
		if r := posterior.RHat(d.Column(j)); !(r <= o.rhat) {
			o.rhat = r
		}
	}
	o.leapfrogs, o.divergent, o.correction = infoMean(d, "n_leapfrog__"), infoMean(d, "divergent__"), infoMean(d, "correction__")
}

// infoMean is the mean of a sampler's column, NaN where it has none.
func infoMean(d *posterior.Draws, name string) float64 {
	j, sum := slices.Index(d.InfoNames, name), 0.0
	if j < 0 {
		return math.NaN()
	}
	for _, info := range d.Info {
		for i := j; i < len(info); i += len(d.InfoNames) {
			sum += info[i]
		}
	}
	return sum / float64(d.NumChains()*d.NumDraws())
}

// ran is what a run took.
type ran struct {
	draws   *posterior.Draws
	seconds float64
	cut     bool
}

// errLimit ends a run that takes too long.
var errLimit = errors.New("the limit of CPU seconds is reached")

// timed runs a method until its plan is done or a limit of CPU seconds is reached;
// the chains, as many as the plan's workers, have then come about as far as each
// other.
func timed(ctx context.Context, m model.Method, problem *model.Problem, plan mcmc.Plan, limit float64) (r ran, err error) {
	runtime.GC() // each run pays for its own garbage
	before, err := cpu()
	if err != nil {
		return r, err
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
	r.draws, err = m.Sample(ctx, problem, plan)
	if err != nil && context.Cause(ctx) == errLimit {
		r.cut, err = true, nil
	}
	if err != nil {
		return r, err
	}
	after, err := cpu()
	r.seconds = (after - before).Seconds()
	return r, err
}

// cpu is the CPU time of this process so far, its own and the system's for it.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
