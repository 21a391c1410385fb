package mcmc

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/dpreg/dpreg/posterior"
)

// DefaultMaxDraws is the limit on the draws kept of each chain where a plan
// with a target ESS sets none: seventeen checks, at 500, 700, 1000, … 500·2⁸ draws.
const DefaultMaxDraws = firstCheck << 8

// firstCheck is the shortest chain whose effective sample size is looked at.
const firstCheck = 500

// Plan says how long to run, on how much, from which seed. Exactly one of
// Draws and ESS is set.
type Plan struct {
	// Chains is the number of independent chains, at least 1.
	Chains int
	// Warmup is the number of steps of each chain that are discarded, and
	// in which an Adapter adapts.
	Warmup int
	// Draws is the number of draws kept of each chain; 0 stops by ESS.
	Draws int
	// ESS is the effective sample size at which to stop: the smallest over
	// bulk and tail and over all parameters, summed over the chains. It is
	// looked at only when each chain holds 500, 700, 1000, 1400, … draws, twice
	// a doubling, and at MaxDraws: a stop that looked after each draw would favour the moments
	// at which the estimate happens to be high.
	ESS float64
	// MaxDraws limits the draws kept of each chain in a run that stops by
	// ESS; 0 means DefaultMaxDraws. Reaching it is a warning.
	MaxDraws int
	// Mixed, if not nil, is asked in a run that stops by ESS, of draws that have it: where
	// they have not mixed, the run goes on as where they lack ESS. The draws alone decide.
	Mixed func(*posterior.Draws) bool
	// Seed and the number of a chain determine that chain's draws.
	Seed uint64
	// Workers is the number of chains that run at once, 0 for GOMAXPROCS.
	// Results do not depend on it.
	Workers int
	// Progress, if not nil, is called at most about ten times a second and
	// once at the end, by the goroutine that called Run.
	Progress func(Progress)
	// Expect, if not nil, is called before the first step, by a method that can tell
	// how long the run will take, with the least and the most that it expects.
	Expect func(least, most time.Duration)
}

// The phases of a run.
const (
	WarmUp   = "warm-up"
	Sampling = "sampling"
)

// Progress says how far a run is.
type Progress struct {
	// Phase is WarmUp until the first chain keeps a draw, then Sampling.
	Phase string
	// Done and Total count steps over all chains, warm-up included. In a run
	// that stops by ESS Total is the least before the first check, where ESS is 0,
	// and after that what the last check lets expect.
	Done, Total int
	// ESS is the effective sample size at the last check, 0 before the
	// first; Target is the plan's.
	ESS, Target float64
}

// Validate returns an error that names the first field that cannot stand.
func (p Plan) Validate() error {
	switch {
	case p.Chains < 1:
		return fmt.Errorf("mcmc: Chains is %d; at least 1 is needed", p.Chains)
	case p.Warmup < 0:
		return fmt.Errorf("mcmc: Warmup is %d; it cannot be negative", p.Warmup)
	case p.Draws < 0:
		return fmt.Errorf("mcmc: Draws is %d; it cannot be negative", p.Draws)
	case math.IsNaN(p.ESS) || math.IsInf(p.ESS, 0) || p.ESS < 0:
		return fmt.Errorf("mcmc: ESS is %v; a finite number, not negative, is needed", p.ESS)
	case p.Draws == 0 && p.ESS == 0:
		return errors.New("mcmc: neither Draws nor ESS is set; one of them says when to stop")
	case p.Draws > 0 && p.ESS > 0:
		return fmt.Errorf("mcmc: Draws (%d) and ESS (%v) exclude each other; set one", p.Draws, p.ESS)
	case p.MaxDraws < 0:
		return fmt.Errorf("mcmc: MaxDraws is %d; it cannot be negative", p.MaxDraws)
	case p.Workers < 0:
		return fmt.Errorf("mcmc: Workers is %d; it cannot be negative", p.Workers)
	}
	return nil
}

// limit is the largest number of draws that the plan keeps of a chain.
func (p Plan) limit() int {
	switch {
	case p.Draws > 0:
		return p.Draws
	case p.MaxDraws > 0:
		return p.MaxDraws
	}
	return DefaultMaxDraws
}

// length is the number of draws kept of each chain of a run that has enough at so many:
// in a run by ESS, the first that is looked at.
func (p Plan) length(enough float64) int {
	if p.Draws > 0 {
		return p.Draws
	}
	n := min(firstCheck, p.limit())
	for float64(n) < enough && n < p.limit() {
		n = p.next(n)
	}
	return n
}

// next is the length at which a run by ESS is looked at after this one: 500·2ᵏ and 700·2ᵏ take
// turns.
func (p Plan) next(length int) int {
	n := firstCheck
	for 2*n <= length {
		n *= 2
	}
	if more := n / 5 * 7; length < more {
		return min(more, p.limit())
	}
	return min(2*n, p.limit())
}

// Foresee returns the least and the most time of a run whose steps take from least to
// most, of which a draw is worth from one to a quarter of an independent one.
func (p Plan) Foresee(least, most time.Duration) (shortest, longest time.Duration) {
	workers, each := p.workers(p.Chains), p.ESS/float64(p.Chains)
	inTurn := (p.Chains + workers - 1) / workers
	return least * time.Duration(inTurn*(p.Warmup+p.length(each))), most * time.Duration(inTurn*(p.Warmup+p.length(4*each)))
}

// workers is the number of goroutines to use for n tasks.
func (p Plan) workers(n int) int {
	w := p.Workers
	if w == 0 {
		w = runtime.GOMAXPROCS(0)
	}
	return min(w, n)
}
