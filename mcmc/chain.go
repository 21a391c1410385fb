package mcmc

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
)

// errStopped marks a chain that was asked to stop before its task was done.
var errStopped = errors.New("stopped")

// chain is one chain. Chains are allocated apart and padded, for the
// generator's state changes at every draw, and two chains in one cache line
// would slow each other down.
type chain[I any] struct {
	_      [64]byte
	number int
	pcg    rand.PCG
	rng    *rand.Rand
	kernel Kernel[I]
	failer Failer // the kernel, if it is one
	warmed int    // warm-up steps done
	kept   int    // rows in params and info
	params []float64
	info   []float64
	tick   uint64       // the last of run.ticks that was answered
	done   atomic.Int64 // steps, as published
	err    error
	_      [64]byte
}

func newChain[I any](number int, seed uint64) *chain[I] {
	c := &chain[I]{number: number}
	seedStream(&c.pcg, seed, number)
	c.rng = rand.New(&c.pcg)
	return c
}

// begin makes the chain's kernel. Only ctx can keep it from doing so, not
// another chain's failure: so it is always the same chain's error that is
// returned.
func (r *run[I]) begin(c *chain[I]) error {
	kernel, err := r.start(c.number, c.rng)
	if err != nil {
		return err
	}
	if kernel == nil {
		return errors.New("start returned no kernel")
	}
	c.kernel = kernel
	c.failer, _ = kernel.(Failer)
	return nil
}

// advance warms the chain up, if that is still to be done, and lengthens it
// to the given number of kept draws. Storage doubles, so that a step
// allocates nothing itself.
func (r *run[I]) advance(c *chain[I], length int) error {
	if err := r.warmUp(c); err != nil {
		return err
	}
	for c.kept < length {
		rows := min(length, max(firstCheck, 2*c.kept))
		c.params = grow(c.params, rows*len(r.columns.Params))
		c.info = grow(c.info, rows*len(r.columns.Info))
		if err := r.fill(c, rows); err != nil {
			return err
		}
	}
	return nil
}

// grow returns s at length n, the new part 0.
func grow(s []float64, n int) []float64 {
	longer := make([]float64, n)
	copy(longer, s)
	return longer
}

func (r *run[I]) warmUp(c *chain[I]) error {
	adapter, _ := c.kernel.(Adapter)
	for c.warmed < r.plan.Warmup {
		if r.stop.Load() {
			return errStopped
		}
		c.kernel.Step(c.rng)
		if err := r.stepped(c); err != nil {
			return err
		}
		if adapter != nil {
			adapter.Adapt(c.warmed, r.plan.Warmup)
		}
		c.warmed++
	}
	return nil
}

// fill steps until rows draws are kept.
func (r *run[I]) fill(c *chain[I], rows int) error {
	params, info := len(r.columns.Params), len(r.columns.Info)
	for i := c.kept; i < rows; i++ {
		if r.stop.Load() {
			return errStopped
		}
		outcome := c.kernel.Step(c.rng)
		if err := r.stepped(c); err != nil {
			return err
		}
		c.kernel.Params(c.params[i*params : (i+1)*params : (i+1)*params])
		if r.keep != nil {
			r.keep(outcome, c.info[i*info:(i+1)*info:(i+1)*info])
		}
		c.kept = i + 1
	}
	return nil
}

// stepped tells how far the chain is, if it was asked since the last step,
// and asks whether the step failed.
func (r *run[I]) stepped(c *chain[I]) error {
	if tick := r.ticks.Load(); tick != c.tick {
		c.tick = tick
		c.publish()
	}
	if c.failer != nil {
		return c.failer.Err()
	}
	return nil
}

// publish makes the number of steps known to report.
func (c *chain[I]) publish() { c.done.Store(int64(c.warmed + c.kept)) }
