package nuts

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Options of a sampler. The zero value serves.
type Options struct {
	// TargetAccept is the mean acceptance that the step size is adapted to, in
	// (0, 1); 0 is 0.8. Larger values make smaller steps: the remedy for
	// divergences.
	TargetAccept float64
	// MaxDepth bounds a trajectory at 2^MaxDepth − 1 leapfrog steps; 0 is 10.
	MaxDepth int
	// Dense is the number of leading coordinates whose metric is a dense matrix;
	// the others' is diagonal.
	Dense int
}

func (o Options) withDefaults() Options {
	if o.TargetAccept == 0 {
		o.TargetAccept = 0.8
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = 10
	}
	return o
}

func (o Options) validate(dim int) error {
	switch {
	case !(o.TargetAccept > 0 && o.TargetAccept < 1):
		return fmt.Errorf("nuts: TargetAccept is %g; a number between 0 and 1 is needed", o.TargetAccept)
	case o.MaxDepth < 1 || o.MaxDepth > 30:
		return fmt.Errorf("nuts: MaxDepth is %d; 1 to 30 is needed", o.MaxDepth)
	case o.Dense < 0 || o.Dense > dim:
		return fmt.Errorf("nuts: Dense is %d; 0 to %d, the target's dimension, is needed", o.Dense, dim)
	}
	return nil
}

// Info is what one transition did beside moving the state.
type Info struct {
	LogDensity float64 // at the new state
	Accept     float64 // mean acceptance over the trajectory's points
	StepSize   float64
	Depth      int // doublings of the trajectory
	Leapfrogs  int
	Divergent  bool    // some step's energy error passed 1000
	Energy     float64 // H at the new state, with the momentum that led there
}

// maxEnergyError marks a divergence, as in Stan.
const maxEnergyError = 1000

// Sampler is one chain: an mcmc.Kernel[Info], and an Adapter and Failer too. It
// allocates nothing after New.
type Sampler struct {
	target   Target
	options  Options
	metric   *Metric
	stepSize StepSize
	windows  windows
	fresh    bool // no step size has been looked for since the metric changed

	state         point     // where the chain is
	forward, back point     // the trajectory's ends
	tree, grown   span      // the trajectory, and the same with its new half
	halves        [][2]span // of the subtree of each depth
	added         span
	initial       float64 // H₀
	acceptSum     float64
	info          Info
	err           error
}

// New starts a chain at a point, which it copies. It is an error for the point
// to lie outside the target's support, or for options not to stand.
func New(t Target, start []float64, o Options) (*Sampler, error) {
	dim := t.Dim()
	if len(start) != dim {
		panic("nuts: a start of another dimension than the target")
	}
	o = o.withDefaults()
	if err := o.validate(dim); err != nil {
		return nil, err
	}
	s := &Sampler{target: t, options: o, metric: NewMetric(dim, o.Dense), fresh: true,
		state: newPoint(dim), forward: newPoint(dim), back: newPoint(dim),
		tree: newSpan(dim), grown: newSpan(dim), added: newSpan(dim)}
	s.stepSize.Target = o.TargetAccept
	s.stepSize.Restart(1, 10)
	copy(s.state.x, start)
	if !s.evaluate(&s.state) {
		if s.err != nil {
			return nil, s.err
		}
		return nil, errors.New("nuts: the density is 0, or cannot be computed, at the start")
	}
	return s, nil
}

// Position returns the state. Whoever changes it calls Moved before the next
// Step.
func (s *Sampler) Position() []float64 { return s.state.x }

// Moved takes notice of a position that was changed from outside, by a move that
// leaves the target invariant. It reports false, and the chain's next Step fails,
// where the density cannot be computed there.
func (s *Sampler) Moved() bool { return s.evaluate(&s.state) }

// LogDensity is that of the present state.
func (s *Sampler) LogDensity() float64 { return s.state.logp }

// Params writes the present state.
func (s *Sampler) Params(dst []float64) { copy(dst, s.state.x) }

// Err is the error that ends the run, if any.
func (s *Sampler) Err() error { return s.err }

// Metric is the present estimate of the target's covariance.
func (s *Sampler) Metric() *Metric { return s.metric }

// evaluate computes log density and whitened gradient at z; it reports false
// where z is outside the support.
func (s *Sampler) evaluate(z *point) bool {
	var err error
	z.logp, err = s.target.LogDensity(z.g, z.x)
	if err != nil {
		if !errors.Is(err, ErrReject) {
			s.err = err
		}
		z.logp = math.Inf(-1)
		return false
	}
	s.metric.Pull(z.g, z.g)
	if math.IsNaN(z.logp) || math.IsInf(z.logp, 0) {
		z.logp = math.Inf(-1)
		return false
	}
	return true
}

// leap moves z by one leapfrog step of size ε, which is negative backwards.
func (s *Sampler) leap(z *point, epsilon float64) {
	half := 0.5 * epsilon
	for i, g := range z.g {
		z.p[i] += half * g
	}
	s.metric.Push(z.x, epsilon, z.p)
	if !s.evaluate(z) {
		return
	}
	for i, g := range z.g {
		z.p[i] += half * g
	}
}

// refresh draws the momentum.
func (z *point) refresh(rng *rand.Rand) {
	for i := range z.p {
		z.p[i] = rng.NormFloat64()
	}
}

// Step does one transition.
func (s *Sampler) Step(rng *rand.Rand) Info {
	if s.err != nil {
		return s.info
	}
	if s.fresh {
		s.searchStepSize(rng)
	}
	s.state.refresh(rng)
	s.initial = s.state.energy()
	s.forward.copy(&s.state)
	s.back.copy(&s.state)
	s.tree.single(&s.state, s.initial, 0)
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
		ok := s.grow(&s.added, s.info.Depth, end, epsilon, rng)
		if !ok {
			return
		}
		s.info.Depth++
		turned := turns(&s.tree, &s.added)
		s.grown.join(&s.tree, &s.added, accept(s.added.logWeight-s.tree.logWeight, rng))
		s.tree, s.grown = s.grown, s.tree
		if turned {
			return
		}
	}
}

// grow makes t the span of 2^depth steps on from z. It reports false where that
// turns back within itself or diverges.
func (s *Sampler) grow(t *span, depth int, z *point, epsilon float64, rng *rand.Rand) bool {
	if depth == 0 {
		return s.step(t, z, epsilon)
	}
	for len(s.halves) < depth {
		dim := len(z.x)
		s.halves = append(s.halves, [2]span{newSpan(dim), newSpan(dim)})
	}
	a, b := &s.halves[depth-1][0], &s.halves[depth-1][1]
	if !s.grow(a, depth-1, z, epsilon, rng) || !s.grow(b, depth-1, z, epsilon, rng) {
		return false
	}
	if turns(a, b) {
		return false
	}
	second := accept(b.logWeight-logSum(a.logWeight, b.logWeight), rng)
	t.join(a, b, second)
	return true
}

// step makes t the span of one step on from z, and reports false where it
// diverges.
func (s *Sampler) step(t *span, z *point, epsilon float64) bool {
	s.leap(z, epsilon)
	s.info.Leapfrogs++
	energy := z.energy()
	if math.IsNaN(energy) {
		energy = math.Inf(1)
	}
	gain := s.initial - energy
	if !(gain >= -maxEnergyError) {
		s.info.Divergent = true
		return false
	}
	s.acceptSum += math.Min(1, math.Exp(gain))
	t.single(z, energy, gain)
	return true
}
