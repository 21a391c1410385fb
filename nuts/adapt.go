package nuts

import (
	"errors"
	"math"
	"math/rand/v2"
)

// Adapt is called by the driver after each warm-up step.
func (s *Sampler) Adapt(iteration, warmup int) {
	if done := iteration + 1; s.Chain != nil && (done == warmup/20 || done == warmup/10) {
		s.Chain.Reach(s.Position())
		s.Moved()
	}
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
		s.fresh = s.Moved() // the gradient in the new metric
		s.tau, s.turnTimes = 0, s.turnTimes[:0]
	}
	if s.options.LearnLength && iteration+1 >= s.windows.first {
		s.learn(iteration+1 == warmup)
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
// algorithm 4), drawn towards it and not, as Stan's, towards ten times it: a step so large
// that is made of smaller ones (refine) costs thousands.
func (s *Sampler) searchStepSize(rng *rand.Rand) {
	s.fresh = false
	epsilon, factor := s.stepSize.Value(), 2.0
	if !s.accepts(epsilon, rng) {
		factor = 0.5
	}
	for range maxDoublings {
		if s.accepts(epsilon, rng) != (factor > 1) {
			s.stepSize.Restart(epsilon, epsilon)
			return
		}
		epsilon *= factor
	}
	s.Fail(errNoStepSize)
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

// windows is Stan's schedule of warm-up: a first buffer in which the chain comes
// home and the step size follows it, windows of doubling length each of which
// ends with a new metric, and a last buffer in which the step size settles.
type windows struct {
	first, last int // the metric's draws are those of iterations first ≤ i < last
	end, length int // of the present window: it ends before iteration end
}

// Stan's lengths, for a warm-up of 150 iterations or more; and the least warm-up
// in which a metric is estimated.
const (
	firstBuffer, firstWindow, lastBuffer = 75, 25, 50
	leastForMetric                       = 20
)

func newWindows(warmup int) windows {
	if warmup < leastForMetric {
		return windows{}
	}
	first, length, last := firstBuffer, firstWindow, lastBuffer
	if warmup < first+length+last {
		first, last = warmup*15/100, warmup/10
		length = warmup - first - last
	}
	w := windows{first: first, last: warmup - last, length: length}
	w.end = w.close(first + length)
	return w
}

// close is the end of a window that would end at end: the next one, twice as
// long, must fit behind it, or this one takes all that is left.
func (w *windows) close(end int) int {
	if end+2*w.length > w.last {
		return w.last
	}
	return end
}

// collects tells whether the draw of an iteration is the metric's.
func (w *windows) collects(iteration int) bool { return iteration >= w.first && iteration < w.last }

// closes tells whether a window ends with an iteration, and goes to the next.
func (w *windows) closes(iteration int) bool {
	if iteration+1 != w.end || iteration >= w.last {
		return false
	}
	w.length *= 2
	w.end = w.close(w.end + w.length)
	return true
}

// StepSize adapts log ε so that the mean acceptance meets a target, by dual
// averaging (Hoffman & Gelman 2014, §3.2, with their constants).
type StepSize struct {
	Target float64 // of the mean acceptance

	log, logMean float64 // the present log ε and its running average
	anchor       float64 // μ: log ε is shrunk towards it
	gap          float64 // H̄: running mean of target − acceptance
	count        float64
}

const (
	adaptGamma     = 0.05
	adaptDelay     = 10   // t₀
	adaptForgetful = 0.75 // κ
)

// Restart forgets the history and starts from ε, drawn towards anchor.
func (s *StepSize) Restart(epsilon, anchor float64) {
	*s = StepSize{Target: s.Target, log: math.Log(epsilon), logMean: math.Log(epsilon), anchor: math.Log(anchor)}
}

// Value returns ε.
func (s *StepSize) Value() float64 { return math.Exp(s.log) }

// Update takes the acceptance of a transition.
func (s *StepSize) Update(accept float64) {
	s.count++
	s.gap += (s.Target - accept - s.gap) / (s.count + adaptDelay)
	s.log = s.anchor - math.Sqrt(s.count)/adaptGamma*s.gap
	s.logMean += math.Pow(s.count, -adaptForgetful) * (s.log - s.logMean)
}

// Settle fixes ε at its average over the history.
func (s *StepSize) Settle() { s.log = s.logMean }
