// Package mcmc runs Markov chains. A Kernel steps; the one driver, Run,
// does everything else: chains on a pool of workers, warm-up, a fixed
// length or a stop by effective sample size, cancellation and progress.
package mcmc

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
)

// Kernel is one chain's state together with its transition. Step moves the
// state once and returns what is to be known about that step (divergence,
// depth, projection): Info, which is not State. Params writes the present
// state's parameters to dst, whose length is that of Columns.Params.
//
// A kernel is used by one goroutine at a time, and takes all its randomness
// from the generator that it is given.
type Kernel[I any] interface {
	Step(rng *rand.Rand) I
	Params(dst []float64)
}

// Adapter is implemented by a kernel that tunes itself. Adapt is called
// once after each warm-up step, iteration = 0 … warmup-1, and never after
// that.
type Adapter interface {
	Adapt(iteration, warmup int)
}

// Failer is implemented by a kernel whose steps can fail for good, for
// instance because a user's density returned an error. Err is called after
// each step; an error ends the run, which returns it with the number of the
// chain.
type Failer interface {
	Err() error
}

// Columns names what a run keeps of each step: the parameters (at least
// one) and the sampler's own columns (none, or names that end in __ by
// Stan's convention).
type Columns struct {
	Params, Info []string
}

// Stream returns the generator number index of a family that seed names: a
// PCG whose 128 bits of state are hashed from (seed, index), so that
// neighbouring seeds and neighbouring indices give unrelated streams. Run
// gives Stream(plan.Seed, c) to chain c.
func Stream(seed uint64, index int) *rand.Rand {
	pcg := new(rand.PCG)
	seedStream(pcg, seed, index)
	return rand.New(pcg)
}

// seedStream seeds pcg with outputs 2·index and 2·index+1 of SplitMix64
// started at mix(seed). Both the finaliser and the Weyl sequence are
// bijections, so two indices of one seed never share a state; hashing the
// seed first keeps the sequences of seeds that differ by a multiple of the
// increment from being shifts of each other.
func seedStream(pcg *rand.PCG, seed uint64, index int) {
	const increment = 0x9e3779b97f4a7c15 // 2⁶⁴ / golden ratio, odd
	state := mix(seed) + uint64(2*index)*increment
	first := mix(state + increment)
	state += increment
	pcg.Seed(first, mix(state+increment))
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014, OOPSLA;
// constants of Stafford's Mix13).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

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
		c.params = append(c.params, make([]float64, rows*len(r.columns.Params)-len(c.params))...)
		c.info = append(c.info, make([]float64, rows*len(r.columns.Info)-len(c.info))...)
		if err := r.fill(c, rows); err != nil {
			return err
		}
	}
	return nil
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
