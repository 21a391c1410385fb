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
	// the others' is diagonal, or as Blocks has it.
	Dense int
	// Blocks are the sizes of blocks behind these: sets of coordinates that depend on
	// the leading ones and among themselves, and hardly on one another given those.
	// Their metric is dense within each block and between it and the leading ones, and
	// its cost grows with their number, not with its square.
	Blocks []int
	// StepError is the error in energy from which on a step is made of smaller ones. 0 takes
	// any, as Stan does.
	StepError float64
	// LearnLength gives trajectories lengths about one that warm-up learns, in place of doubling them until
	// they turn back: for coordinates that are about isotropic (after Wu, Stoehr & Robert 2018,
	// arXiv:1810.04449). Without a warm-up they are doubled.
	LearnLength bool
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
	case !(o.StepError >= 0):
		return fmt.Errorf("nuts: StepError is %g; 0 or more is needed", o.StepError)
	case o.Dense < 0 || o.Dense > dim:
		return fmt.Errorf("nuts: Dense is %d; 0 to %d, the target's dimension, is needed", o.Dense, dim)
	}
	left := dim - o.Dense
	for _, size := range o.Blocks {
		if left -= size; size < 1 || left < 0 {
			return fmt.Errorf("nuts: Blocks %v do not fit behind %d leading coordinates of %d", o.Blocks, o.Dense, dim)
		}
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

// Sampler is one chain, of trajectories and the moves of its Chain in turns: an
// mcmc.Kernel[Info], and an Adapter and Failer too. It allocates only where a
// trajectory is longer than all before it.
type Sampler struct {
	Chain Chain // nil where the target has no moves of its own

	target    Target
	options   Options
	metric    *Metric
	stepSize  StepSize
	windows   windows
	fresh     bool // no step size has been looked for since the metric changed
	measures  bool // the next step measures when a trajectory turns back
	turnTimes []float64
	tau       float64 // the median of turnTimes, or 0 where trajectories are doubled

	state         point     // where the chain is
	forward, back point     // the trajectory's ends
	tree, grown   span      // the trajectory, and the same with its new half
	added         span      // the new half
	halves        [][2]span // of the subtree of each depth
	initial       float64   // H₀
	acceptSum     float64   // over the trajectory's points
	points        float64   // how many these are
	from, trial   point     // see refine
	info          Info
	err           error
	proposed      []float64 // see Proposal
	grad          []float64
}

// errOutside ends a chain that stands at a point without a density.
var errOutside = errors.New("the log density or its gradient is not finite where the chain stands")

// New starts a chain at a point, which it copies, of a target that may be a Chain. It is an error for the log
// density or its gradient not to be finite there, or for options not to stand.
// It panics where the point has another dimension than the target.
func New(t Target, start []float64, o Options) (*Sampler, error) {
	dim := t.Dim()
	if len(start) != dim {
		panic("nuts: a start of another dimension than the target")
	}
	o = o.withDefaults()
	if err := o.validate(dim); err != nil {
		return nil, err
	}
	s := &Sampler{target: t, options: o, metric: NewMetric(dim, o.Dense, o.Blocks...), fresh: true,
		state: newPoint(dim), forward: newPoint(dim), back: newPoint(dim), from: newPoint(dim), trial: newPoint(dim),
		tree: newSpan(dim), grown: newSpan(dim), added: newSpan(dim),
		proposed: make([]float64, dim), grad: make([]float64, dim)}
	s.Chain, _ = t.(Chain)
	s.stepSize.Target = o.TargetAccept
	s.stepSize.Restart(1, 10)
	copy(s.state.x, start)
	if !s.Moved() {
		return nil, fmt.Errorf("nuts: the start: %w", s.err)
	}
	return s, nil
}

// Position returns the state, until the next Step. Whoever changes it calls Moved
// before that.
func (s *Sampler) Position() []float64 { return s.state.x }

// MoveTo puts the chain at x, where the target's log density and gradient are
// these, by a move that leaves the target invariant. It copies x and grad.
func (s *Sampler) MoveTo(x []float64, logp float64, grad []float64) {
	copy(s.state.x, x)
	s.metric.Pull(s.state.g, grad)
	s.state.logp = logp
}

// Proposal is a copy of the position, for a move to change, and space for a gradient.
func (s *Sampler) Proposal() (x, grad []float64) {
	copy(s.proposed, s.Position())
	return s.proposed, s.grad
}

// Try moves the chain to x by Metropolis' test, and reports whether it did: x is what an involution of Jacobian 1
// makes of the position, or the position where what the target holds beside its coordinates was drawn anew from its
// prior. Where it reports false the target is then to have what it held before.
func (s *Sampler) Try(x []float64, rng *rand.Rand) (moved bool) {
	after, err := s.target.LogDensity(s.grad, x)
	if moved = err == nil && rng.Float64() < math.Exp(after-s.LogDensity()); moved {
		s.MoveTo(x, after, s.grad)
	}
	return moved
}

// Put moves the chain to x, where a move that leaves the target invariant went. It reports false, and the chain
// stays, where x has no density in floating point.
func (s *Sampler) Put(x []float64) bool {
	after, err := s.target.LogDensity(s.grad, x)
	if err == nil {
		s.MoveTo(x, after, s.grad)
	}
	return err == nil
}

// Fail ends the run, unless an error has already.
func (s *Sampler) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// LogDensity is that of the present state.
func (s *Sampler) LogDensity() float64 { return s.state.logp }

// Params writes the present state, or what the Chain keeps of it.
func (s *Sampler) Params(dst []float64) {
	if s.Chain == nil {
		copy(dst, s.state.x)
		return
	}
	s.Chain.Write(dst, s.state.x)
}

// Err is the error that ends the run, if any.
func (s *Sampler) Err() error { return s.err }

// Moved takes notice of a position that was changed from outside, by a move that
// leaves the target invariant: it computes density and gradient there. It reports false,
// and the run ends with an error, where these are not finite.
func (s *Sampler) Moved() bool {
	ok := s.evaluate(&s.state)
	for _, g := range s.state.g {
		ok = ok && !math.IsNaN(g) && !math.IsInf(g, 0)
	}
	if !ok {
		s.Fail(errOutside)
	}
	return ok
}

// evaluate computes log density and whitened gradient at z; it reports false
// where z is outside the support.
func (s *Sampler) evaluate(z *point) bool {
	logp, err := s.target.LogDensity(z.g, z.x)
	if err == nil && !math.IsNaN(logp) && !math.IsInf(logp, 0) {
		z.logp = logp
		s.metric.Pull(z.g, z.g)
		return true
	}
	if err != nil && !errors.Is(err, ErrReject) {
		s.err = err
	}
	z.logp = math.Inf(-1)
	return false
}
