package mcmc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/posterior"
)

// Run runs plan.Chains chains and returns their kept draws.
//
// start makes the kernel of one chain (0 ≤ chain < plan.Chains), already in
// its initial state; rng is that chain's generator, which its steps go on
// using. keep writes what a step returned to dst, length len(c.Info); it may
// be nil where c.Info is empty. Both are called by several goroutines at
// once, so kernels share nothing that they change.
//
// Draws, and the length at which a run by ESS stops, depend on the plan's
// numbers and not on Workers or on time. Draws.Seconds is the wall-clock
// time of Run: starts, warm-up, sampling and checks of convergence.
//
// An error of start, a Failer's error and a panic in a chain (PanicError) end
// the run and are returned with the chain's number, counted from 1 as in
// Stan; draws are then nil. If ctx is cancelled the error is ctx.Err() and
// the draws are those kept so far, cut to the shortest chain. A plan that
// does not Validate is an error. Run panics where start is nil, no parameter
// is named, or c.Info has names and keep is nil.
func Run[I any](ctx context.Context, c Columns, start func(chain int, rng *rand.Rand) (Kernel[I], error), keep func(I, []float64), plan Plan) (*posterior.Draws, error) {
	if start == nil || len(c.Params) == 0 || len(c.Info) > 0 && keep == nil {
		panic("mcmc: Run needs start, a parameter, and keep where Info has names")
	}
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	begin := time.Now()
	r := &run[I]{columns: c, start: start, keep: keep, plan: plan}
	release := context.AfterFunc(ctx, func() { r.stop.Store(true) })
	defer release()
	// Where the caller's Progress panics, no chain is left running.
	defer r.stop.Store(true)

	err := r.sample(ctx)
	if plan.Progress != nil {
		r.report()
	}
	if err != nil && (ctx.Err() == nil || err != ctx.Err()) {
		return nil, err
	}
	draws := r.draws()
	draws.Seconds = time.Since(begin).Seconds()
	return draws, err
}

// run is the state of one call of Run.
type run[I any] struct {
	columns  Columns
	start    func(chain int, rng *rand.Rand) (Kernel[I], error)
	keep     func(I, []float64)
	plan     Plan
	chains   []*chain[I]
	stop     atomic.Bool   // asks all chains to stop at their next step
	ticks    atomic.Uint64 // counts the questions to chains how far they are
	ess      float64       // at the last check
	expected int           // draws of each chain at the end, as far as is known
	warnings []string
}

// sample starts all chains and lengthens them until the plan is fulfilled.
func (r *run[I]) sample(ctx context.Context) error {
	r.chains = make([]*chain[I], r.plan.Chains)
	for i := range r.chains {
		r.chains[i] = newChain[I](i, r.plan.Seed)
	}
	length := r.plan.length(0)
	r.expected = length
	if err := r.each(ctx, (*run[I]).begin); err != nil {
		return err
	}
	for {
		err := r.each(ctx, func(r *run[I], c *chain[I]) error { return r.advance(c, length) })
		if err != nil || r.plan.Draws > 0 || r.enough(length) {
			return err
		}
		length = r.plan.next(length)
	}
}

// enough checks convergence of chains of the given length, and warns where
// they may not become longer.
func (r *run[I]) enough(length int) bool {
	draws := r.draws()
	ess, parameter := draws.MinESS(r.plan.workers(len(r.columns.Params)))
	r.ess = ess
	ample := ess >= r.plan.ESS
	if ample && (r.plan.Mixed == nil || r.plan.Mixed(draws)) {
		return true
	}
	if length < r.plan.limit() {
		r.expected = r.plan.length(max(float64(length+1), float64(length)*r.plan.ESS/ess))
		return false
	}
	if ample {
		return true
	}
	name := "no parameter moved"
	if parameter >= 0 {
		name = r.columns.Params[parameter]
	}
	r.warnings = append(r.warnings, fmt.Sprintf(
		"stopped at the limit of %d draws a chain with an effective sample size of %.0f (%s), not %.0f: the Monte Carlo error is larger than asked for",
		length, ess, name, r.plan.ESS))
	return true
}

// draws gathers the chains, cut to the shortest.
func (r *run[I]) draws() *posterior.Draws {
	kept := slices.MinFunc(r.chains, func(a, b *chain[I]) int { return a.kept - b.kept }).kept
	params, info := len(r.columns.Params), len(r.columns.Info)
	d := &posterior.Draws{
		Names:     slices.Clone(r.columns.Params),
		InfoNames: slices.Clone(r.columns.Info),
		Warmup:    r.plan.Warmup,
		Warnings:  slices.Clone(r.warnings),
	}
	for _, c := range r.chains {
		d.Chains = append(d.Chains, c.params[:kept*params:kept*params])
		d.Info = append(d.Info, c.info[:kept*info:kept*info])
	}
	return d
}

// PanicError is a panic of a kernel, of start or of keep, with its stack.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// tick is the time between two reports of progress.
const tick = 100 * time.Millisecond

// each does task for every chain on the plan's workers, and reports progress
// in the meantime from the caller's goroutine. It returns the error of the
// first chain that has one, or ctx's if not every task could be finished.
func (r *run[I]) each(ctx context.Context, task func(*run[I], *chain[I]) error) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		parallel.Each(context.Background(), r.plan.workers(len(r.chains)), len(r.chains), nil, func(_ context.Context, i int) error {
			c := r.chains[i]
			if c.err = errStopped; ctx.Err() == nil {
				c.err = r.guard(c, task)
			}
			if c.err != nil {
				r.stop.Store(true)
			}
			c.publish()
			return nil
		})
	}()
	r.wait(done)
	interrupted := false
	for _, c := range r.chains {
		switch {
		case c.err == errStopped:
			interrupted = true
		case c.err != nil:
			return fmt.Errorf("mcmc: chain %d: %w", c.number+1, c.err)
		}
	}
	if interrupted {
		return ctx.Err()
	}
	return nil
}

// guard turns a panic into an error.
func (r *run[I]) guard(c *chain[I], task func(*run[I], *chain[I]) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{value, debug.Stack()}
		}
	}()
	return task(r, c)
}

// wait returns when all is done, and reports progress in the meantime.
func (r *run[I]) wait(done chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if r.plan.Progress != nil {
				r.report()
			}
		case <-done:
			return
		}
	}
}

// report calls the plan's Progress with what the chains published last, and
// asks them to publish anew: a store at each step would cost more than some
// steps do.
func (r *run[I]) report() {
	p := Progress{Phase: WarmUp, ESS: r.ess, Target: r.plan.ESS}
	for _, c := range r.chains {
		done := int(c.done.Load())
		p.Done += done
		if done > r.plan.Warmup {
			p.Phase = Sampling
		}
	}
	p.Total = r.plan.Chains * (r.plan.Warmup + r.expected)
	r.ticks.Add(1)
	r.plan.Progress(p)
}
