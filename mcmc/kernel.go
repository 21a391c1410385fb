// Package mcmc runs Markov chains. A Kernel steps; the one driver, Run,
// does everything else: chains on a pool of workers, warm-up, a fixed
// length or a stop by effective sample size, cancellation and progress.
package mcmc

import "math/rand/v2"

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
