package nuts

import "math"

// A step of a trajectory is a leapfrog step of size ε, or where that errs by more than
// Options.StepError in energy 2, 4, 8, … of size ε/2, ε/4, ε/8, …, the first of these that do not:
// ε is then what serves most of the target, and where its walls are steep the trajectory goes
// slowly and does not break off (Bou-Rabee, Carpenter, Kleppe & Liu, The within-orbit adaptive
// leapfrog no-U-turn sampler, JMLR 27, 2026; the number of halvings is not drawn here).
//
// From z′ backwards the same steps lead to z, if fewer halvings would not do there. Where they
// would, the trajectory ends before z′. So what z goes to is a map that is one to one, its inverse
// the same backwards, and keeps volume, being of leapfrog steps wherever the number of halvings is
// the same; where it is not defined the trajectory ends, as where one diverges.
//
// To the adaptation of ε a step that was halved h times counts as accepted 2^−h as much, which is per leapfrog
// step: else what is halved until it is accepted would call for larger and larger steps.

// maxHalvings is the number of halvings with which any error is taken.
const maxHalvings = 6

// refine moves z by one step of size ε, and returns how often it was halved. It reports false where
// that leads nowhere.
func (s *Sampler) refine(z *point, epsilon float64) (halvings int, ok bool) {
	if s.options.StepError == 0 {
		return 0, s.leaps(z, epsilon, 0, math.Inf(1))
	}
	s.from.copy(z)
	for halvings < maxHalvings && !s.leaps(z, epsilon, halvings, s.options.StepError) {
		z.copy(&s.from)
		halvings++
	}
	return halvings, halvings < maxHalvings || s.leaps(z, epsilon, halvings, math.Inf(1))
}

// leadsBack tells whether refine from z backwards would halve as often.
func (s *Sampler) leadsBack(z *point, epsilon float64, halvings int) bool {
	for fewer := range halvings {
		s.trial.copy(z)
		if s.leaps(&s.trial, -epsilon, fewer, s.options.StepError) {
			return false
		}
	}
	return true
}

// leaps moves z by leapfrog steps of ε after so many halvings, and reports whether the energies on
// the way differ by no more than most. It ends where they do.
func (s *Sampler) leaps(z *point, epsilon float64, halvings int, most float64) bool {
	low, high := z.energy, z.energy
	for range 1 << halvings {
		s.leap(z, math.Ldexp(epsilon, -halvings))
		s.info.Leapfrogs++
		low, high = min(low, z.energy), max(high, z.energy)
		if !(high-low <= most) { // NaN too
			return false
		}
	}
	return true
}
