package nuts

import (
	"math"
	"math/rand/v2"
	"testing"
)

// refined is a sampler of a skewed density whose steps are too long for it.
func refined(t *testing.T) (skewed, *Sampler) {
	target := skewed{cut: math.Inf(-1)}
	return target, fixed(t, target, 0.9, Options{StepError: 0.3})
}

// Where a step leads back, the same backwards leads to where it began, by as many halvings; where
// it does not, by fewer.
func TestRefinedStepsLeadBack(t *testing.T) {
	target, s := refined(t)
	rng := rand.New(rand.NewPCG(3, 1))
	seen := map[int]int{} // steps by how often they were halved; -1 those that do not lead back
	for range 5000 {
		target.draw(s.Position(), rng)
		if !s.Moved() {
			t.Fatal(s.Err())
		}
		s.state.refresh(rng)
		z := newPoint(2)
		z.copy(&s.state)
		halvings, ok := s.refine(&z, 0.9)
		if !ok || halvings == maxHalvings {
			continue
		}
		back := s.leadsBack(&z, 0.9, halvings)
		again, _ := s.refine(&z, -0.9)
		far := math.Hypot(z.x[0]-s.state.x[0], z.x[1]-s.state.x[1]) + math.Hypot(z.p[0]-s.state.p[0], z.p[1]-s.state.p[1])
		if back && (again != halvings || !(far < 1e-9)) || !back && again >= halvings {
			t.Fatalf("%d halvings, and %d back, to a distance of %g; leads back: %v", halvings, again, far, back)
		}
		if !back {
			halvings = -1
		}
		seen[halvings]++
	}
	if seen[-1] < 50 || seen[0] < 50 || seen[1] < 50 || seen[2] < 50 {
		t.Errorf("%v: too few to test anything", seen)
	}
}

// Metropolis' test of single steps keeps the density if those that do not lead back are refused,
// and not if they are taken.
func TestRefinedStepsKeepTheDensity(t *testing.T) {
	for _, all := range []bool{false, true} {
		target, s := refined(t)
		u, _, _ := transitions(t, target, s, func(s *Sampler, rng *rand.Rand) (info Info) {
			s.state.refresh(rng)
			s.forward.copy(&s.state)
			halvings, ok := s.refine(&s.forward, 0.9)
			if ok && (all || s.leadsBack(&s.forward, 0.9, halvings)) && rng.Float64() < math.Exp(s.state.energy-s.forward.energy) {
				s.state.copy(&s.forward)
			}
			return info
		})
		good := true
		for i := range u {
			good = good && uniform(u[i])
		}
		if good == all {
			t.Errorf("those that do not lead back taken: %v, uniform: %v", all, good)
		}
	}
}
