package nuts

import (
	"errors"
	"math"
	"math/rand/v2"
)

// Adapt is called by the driver after each warm-up step.
func (s *Sampler) Adapt(iteration, warmup int) {
	if s.err != nil {
		return
	}
	if iteration == 0 {
		s.windows = newWindows(warmup)
	}
	s.stepSize.Update(s.info.Accept)
	if s.windows.collects(iteration) {
		s.metric.Add(s.state.x)
	}
	if s.windows.closes(iteration) && s.metric.Update() {
		s.fresh = s.settle() // the gradient in the new metric
	}
	if iteration+1 == warmup {
		s.stepSize.Settle()
	}
}

// maxDoublings bounds the search for a step size: where 2^±100 of the last does
// not serve, none does.
const maxDoublings = 100

var errNoStepSize = errors.New("nuts: no step size serves: the density is improper, or its gradient is not that of a density nearby")

// searchStepSize doubles or halves ε until the acceptance of a single step
// crosses the target, and starts the adaptation there (Hoffman & Gelman 2014,
// algorithm 4).
func (s *Sampler) searchStepSize(rng *rand.Rand) {
	s.fresh = false
	epsilon, factor := s.stepSize.Value(), 2.0
	if !s.accepts(epsilon, rng) {
		factor = 0.5
	}
	for range maxDoublings {
		if s.accepts(epsilon, rng) != (factor > 1) {
			s.stepSize.Restart(epsilon, 10*epsilon)
			return
		}
		epsilon *= factor
	}
	if s.err == nil {
		s.err = errNoStepSize
	}
}

// accepts tells whether a step of size ε from the state, with a new momentum, is
// accepted with the probability aimed at.
func (s *Sampler) accepts(epsilon float64, rng *rand.Rand) bool {
	s.forward.copy(&s.state)
	s.forward.refresh(rng)
	before := s.forward.energy
	s.leap(&s.forward, epsilon)
	return before-s.forward.energy > math.Log(s.options.TargetAccept)
}
