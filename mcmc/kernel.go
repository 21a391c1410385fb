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
