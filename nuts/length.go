package nuts

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Trajectories of a learnt length. The No-U-Turn sampler looks in each trajectory for where it turns
// back, and takes a point that is half as far on average. Where coordinates are about isotropic that
// time, τ, hardly changes from one trajectory to the next. With Options.LearnLength it is measured after
// the first buffer of warm-up, and again after each new metric. From then on a trajectory has
//
//	L = max(1, ⌊t/ε + U⌋) steps,  t ~ uniform on 0.6 τ(1 ± jitter),  U ~ uniform(0, 1).
//
// In a normal target ½τ is a quarter of the period: the end does not depend on where it began. A little
// more serves targets of which some direction is longer than others. L is half of what the doublings
// take, or less. (Wu, Stoehr & Robert 2018, arXiv:1810.04449, learn the law of L in this way. Jitter is
// Neal's, 2011, arXiv:1206.1901, §3.2: no coordinate has just that period.)
//
// The end is taken with probability min(1, exp(H₀ − H)), else the start. L steps and a change of the sign
// of p are an involution that keeps volume, wherever all of them lead on and back (see refine; elsewhere
// the start is kept), and L is drawn without regard to the state: that is Metropolis' algorithm.

// share of τ that a trajectory takes, and jitter, how far it strays from that, as a share of it.
const share, jitter = 0.6, 0.2

// measure takes the time after which a trajectory from the state turns back, that is, the momentum at
// its end has no positive product with the sum of all its momenta. It moves nothing.
func (s *Sampler) measure(rng *rand.Rand) {
	z, rho, epsilon := &s.forward, s.added.rho, s.stepSize.Value()
	z.copy(&s.state)
	z.refresh(rng)
	s.initial = z.energy
	copy(rho, z.p)
	for i := range 1<<s.options.MaxDepth - 1 {
		if _, ok := s.step(z, epsilon); !ok {
			return
		}
		along := 0.0
		for j, p := range z.p {
			rho[j] += p
			along += p * rho[j]
		}
		if !(along > 0) {
			s.turnTimes = append(s.turnTimes, (float64(i)+0.5)*epsilon) // it turned back within the last step
			return
		}
	}
}

// measurements are as many as tell τ.
const measurements = 10

// learn has τ measured until there are so many measurements, or it is the last time to ask; then τ is
// their median. Where there are none, trajectories go on to be doubled.
func (s *Sampler) learn(last bool) {
	n := len(s.turnTimes)
	s.measures = s.tau == 0 && n < measurements && !last
	if n > 0 && s.tau == 0 && !s.measures {
		slices.Sort(s.turnTimes)
		s.tau = s.turnTimes[n/2]
	}
}

// travel goes along a trajectory of a length drawn, and moves to its end by Metropolis' test.
func (s *Sampler) travel(rng *rand.Rand) {
	epsilon := s.info.StepSize
	t := share * s.tau * (1 + jitter*(2*rng.Float64()-1))
	length := max(1, int(min(t/epsilon+rng.Float64(), math.Ldexp(1, s.options.MaxDepth)-1)))
	s.info.Depth = bits.Len(uint(length))
	weight, ok := 0.0, true
	for i := 0; i < length && ok; i++ {
		weight, ok = s.step(&s.forward, epsilon)
	}
	if ok && rng.Float64() < weight {
		s.tree.take(&s.forward)
	}
}
