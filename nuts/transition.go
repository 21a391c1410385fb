package nuts

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// maxEnergyError marks a divergence, as in Stan.
const maxEnergyError = 1000

// Step does one transition, and the moves that follow it.
func (s *Sampler) Step(rng *rand.Rand) Info {
	info := s.follow(rng)
	if s.Chain != nil {
		s.Chain.Move(s, rng)
		info.LogDensity = s.LogDensity()
	}
	return info
}

// follow goes along a trajectory. Where the chain has failed, it does nothing.
func (s *Sampler) follow(rng *rand.Rand) Info {
	if s.fresh && s.err == nil {
		s.searchStepSize(rng)
	}
	if s.measures {
		s.measure(rng)
	}
	if s.err != nil {
		return s.info
	}
	s.state.refresh(rng)
	s.initial = s.state.energy
	s.forward.copy(&s.state)
	s.back.copy(&s.state)
	s.tree.single(&s.state, 1)
	s.acceptSum, s.points, s.info = 0, 0, Info{StepSize: s.stepSize.Value()}
	if s.tau > 0 {
		s.travel(rng)
	} else {
		s.double(rng)
	}

	s.info.Accept = s.acceptSum / s.points
	s.state.proposal, s.tree.proposal = s.tree.proposal, s.state.proposal
	s.info.LogDensity, s.info.Energy = s.state.logp, s.state.energy
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
// where the step diverges, or does not lead back.
func (s *Sampler) step(z *point, epsilon float64) (weight float64, ok bool) {
	s.points++
	parts, ok := s.refine(z, epsilon)
	gain := s.initial - z.energy
	if !ok || !(gain >= -maxEnergyError) { // NaN too
		s.info.Divergent = true
		return 0, false
	}
	if !s.leadsBack(z, epsilon, parts) {
		return 0, false
	}
	weight = math.Exp(min(gain, maxGain))
	s.acceptSum += math.Ldexp(min(1, weight), -parts)
	return weight, true
}

// leap moves z by one leapfrog step of size ε, which is negative backwards. The
// energy is +∞ outside the support.
func (s *Sampler) leap(z *point, epsilon float64) {
	floats.AddScaled(z.p, 0.5*epsilon, z.g)
	s.metric.Push(z.x, epsilon, z.p)
	if !s.evaluate(z) {
		z.energy = math.Inf(1)
		return
	}
	z.land(0.5 * epsilon)
}

// point is a place in phase space. Momentum p and gradient g are in the
// metric's whitened coordinates, x is not.
type point struct {
	proposal
	p []float64
}

func newPoint(dim int) point { return point{newProposal(dim), make([]float64, dim)} }

func (z *point) copy(from *point) {
	z.take(from)
	copy(z.p, from.p)
}

// refresh draws the momentum, and sets the energy.
func (z *point) refresh(rng *rand.Rand) {
	k := 0.0
	for i := range z.p {
		v := rng.NormFloat64()
		z.p[i] = v
		k += v * v
	}
	z.energy = 0.5*k - z.logp
}

// land is the last kick of a step, which adds a times the gradient to the momentum, and sets the energy.
func (z *point) land(a float64) {
	p, k := z.p[:len(z.g)], 0.0
	for i, g := range z.g {
		v := p[i] + a*g
		p[i] = v
		k += v * v
	}
	z.energy = 0.5*k - z.logp
}

// proposal is what of a point is kept of it as the next draw.
type proposal struct {
	x, g         []float64
	logp, energy float64 // energy is H = −log density + ½|p|²
}

func newProposal(dim int) proposal {
	return proposal{x: make([]float64, dim), g: make([]float64, dim)}
}

func (t *proposal) take(z *point) {
	copy(t.x, z.x)
	copy(t.g, z.g)
	t.logp, t.energy = z.logp, z.energy
}

// span is a stretch of the trajectory: the momenta at its two ends and their
// sum ρ over all its points, the sum of its points' weights exp(H₀ − H), and one of
// its points.
type span struct {
	begin, end, rho []float64
	weight          float64
	proposal
}

func newSpan(dim int) span {
	vec := func() []float64 { return make([]float64, dim) }
	return span{begin: vec(), end: vec(), rho: vec(), proposal: newProposal(dim)}
}

// single makes the span of one point.
func (t *span) single(z *point, weight float64) {
	copy(t.begin, z.p)
	copy(t.end, z.p)
	copy(t.rho, z.p)
	t.take(z)
	t.weight = weight
}

// close makes p the end of a span of two points, whose begin is there, and tells
// whether it turns.
func (t *span) close(p []float64) bool {
	var begin, end float64
	first, last, rho := t.begin[:len(p)], t.end[:len(p)], t.rho[:len(p)]
	for i, v := range p {
		f := first[i]
		r := f + v
		last[i], rho[i] = v, r
		begin += f * r
		end += v * r
	}
	return !(begin > 0 && end > 0)
}

// reverse exchanges the ends.
func (t *span) reverse() { t.begin, t.end = t.end, t.begin }

// turns tells whether the trajectory a·b, b going on where a ends, has begun to
// come back: a momentum at an end of the whole, or of either span and its
// neighbour's next point, no longer has a positive product with the sum ρ of
// momenta between (Stan's criterion, with the two checks across subtrees).
func turns(a, b *span) bool {
	var begin, end, aBegin, aNext, bLast, bEnd float64
	ab, ae, ar := a.begin, a.end, a.rho
	bb, be, br := b.begin, b.end, b.rho
	ae, ar, bb, be, br = ae[:len(ab)], ar[:len(ab)], bb[:len(ab)], be[:len(ab)], br[:len(ab)]
	for i, p := range ab {
		near, next := ar[i]+bb[i], br[i]+ae[i]
		rho := ar[i] + br[i]
		begin += p * rho
		end += be[i] * rho
		aBegin += p * near
		aNext += bb[i] * near
		bLast += ae[i] * next
		bEnd += be[i] * next
	}
	return !(begin > 0 && end > 0 && aBegin > 0 && aNext > 0 && bLast > 0 && bEnd > 0)
}

// join makes t the span a·b, with b's proposal or a's. It exchanges buffers with
// a and b, which are spent.
func (t *span) join(a, b *span, takeSecond bool) {
	floats.AddTo(t.rho, a.rho, b.rho)
	t.weight = a.weight + b.weight
	t.begin, a.begin = a.begin, t.begin
	t.end, b.end = b.end, t.end
	if takeSecond {
		t.proposal, b.proposal = b.proposal, t.proposal
	} else {
		t.proposal, a.proposal = a.proposal, t.proposal
	}
}
