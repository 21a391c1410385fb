package mcmc

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

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
	var next atomic.Int64
	var group sync.WaitGroup
	for range r.plan.workers(len(r.chains)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(r.chains)); i = next.Add(1) - 1 {
				c := r.chains[i]
				if ctx.Err() != nil {
					c.err = errStopped
					continue
				}
				if c.err = r.guard(c, task); c.err != nil {
					r.stop.Store(true)
				}
				c.publish()
			}
		})
	}
	r.wait(&group)

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

// wait returns when the group is done.
func (r *run[I]) wait(group *sync.WaitGroup) {
	if r.plan.Progress == nil {
		group.Wait()
		return
	}
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.report()
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
