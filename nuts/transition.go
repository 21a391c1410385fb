package nuts

import (
	"math"
	"math/rand/v2"
)

// maxEnergyError marks a divergence, as in Stan.
const maxEnergyError = 1000

// Step does one transition. Where the chain has failed, it does nothing.
func (s *Sampler) Step(rng *rand.Rand) Info {
	if s.fresh && s.err == nil {
		s.searchStepSize(rng)
	}
	if s.err != nil {
		return s.info
	}
	s.state.refresh(rng)
	s.initial = s.state.energy
	s.forward.copy(&s.state)
	s.back.copy(&s.state)
	s.tree.single(&s.state, 1)
	s.acceptSum, s.info = 0, Info{StepSize: s.stepSize.Value()}
	s.double(rng)

	s.info.Accept = s.acceptSum / float64(s.info.Leapfrogs)
	s.state.x, s.tree.x = s.tree.x, s.state.x
	s.state.g, s.tree.g = s.tree.g, s.state.g
	s.state.logp = s.tree.logp
	s.info.LogDensity, s.info.Energy = s.tree.logp, s.tree.energy
	return s.info
}

// double doubles the trajectory to a random side until it turns back, diverges
// or is as long as may be. The new half's point is taken with probability
// min(1, its weight over the old half's), which leads farther than a draw by
// weight and keeps the target invariant (Betancourt 2017, A.3.2).
func (s *Sampler) double(rng *rand.Rand) {
	forward := true // the tree runs from begin to end in this direction
	for s.info.Depth < s.options.MaxDepth {
		end, epsilon := &s.forward, s.info.StepSize
		if rng.Uint64()&1 == 0 {
			end, epsilon = &s.back, -epsilon
		}
		if (epsilon > 0) != forward {
			s.tree.reverse()
			forward = !forward
		}
		if !s.grow(&s.added, s.info.Depth, end, epsilon, rng) {
			return
		}
		s.info.Depth++
		turned := turns(&s.tree, &s.added)
		s.grown.join(&s.tree, &s.added, rng.Float64()*s.tree.weight < s.added.weight)
		s.tree, s.grown = s.grown, s.tree
		if turned {
			return
		}
	}
}

// grow makes t the span of 2^depth steps on from z, its point drawn by weight. It
// reports false where that turns back within itself or diverges.
func (s *Sampler) grow(t *span, depth int, z *point, epsilon float64, rng *rand.Rand) bool {
	switch depth {
	case 0:
		weight, ok := s.step(z, epsilon)
		t.single(z, weight)
		return ok
	case 1:
		return s.pair(t, z, epsilon, rng)
	}
	for len(s.halves) <= depth {
		dim := len(z.x)
		s.halves = append(s.halves, [2]span{newSpan(dim), newSpan(dim)})
	}
	a, b := &s.halves[depth][0], &s.halves[depth][1]
	if !s.grow(a, depth-1, z, epsilon, rng) || !s.grow(b, depth-1, z, epsilon, rng) || turns(a, b) {
		return false
	}
	t.join(a, b, rng.Float64()*(a.weight+b.weight) < b.weight)
	return true
}

// pair makes t the span of two steps on from z, as grow does from two halves;
// but these are points, each of which is its own begin, end and ρ, so that the
// three criteria of a U-turn are one, and half of the copies are not needed.
func (s *Sampler) pair(t *span, z *point, epsilon float64, rng *rand.Rand) bool {
	first, ok := s.step(z, epsilon)
	if !ok {
		return false
	}
	copy(t.begin, z.p)
	t.take(z)
	second, ok := s.step(z, epsilon)
	if !ok || t.close(z.p) {
		return false
	}
	t.weight = first + second
	if rng.Float64()*t.weight < second {
		t.take(z)
	}
	return true
}

// maxGain keeps sums of weights from overflow. In a stationary chain a gain passes
// it with probability e⁻⁵⁰⁰ at most: trajectories keep volume, so the mean of
// exp(H₀ − H) at any of their points is at most 1.
const maxGain = 500

// step moves z by one step and returns its weight exp(H₀ − H); it reports false
// where the step diverges.
func (s *Sampler) step(z *point, epsilon float64) (weight float64, ok bool) {
	s.leap(z, epsilon)
	s.info.Leapfrogs++
	gain := s.initial - z.energy
	if !(gain >= -maxEnergyError) { // NaN too
		s.info.Divergent = true
		return 0, false
	}
	weight = math.Exp(min(gain, maxGain))
	s.acceptSum += min(1, weight)
	return weight, true
}

// leap moves z by one leapfrog step of size ε, which is negative backwards. The
// energy is +∞ outside the support.
func (s *Sampler) leap(z *point, epsilon float64) {
	z.kick(0.5 * epsilon)
	s.metric.Push(z.x, epsilon, z.p)
	if !s.evaluate(z) {
		z.energy = math.Inf(1)
		return
	}
	z.land(0.5 * epsilon)
}
