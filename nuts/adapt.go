package nuts

import (
	"math"
	"math/rand/v2"
)

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

// Adapt is called by the driver after each warm-up step.
func (s *Sampler) Adapt(iteration, warmup int) {
	if iteration == 0 {
		s.windows = newWindows(warmup)
	}
	s.stepSize.Update(s.info.Accept)
	if s.windows.collects(iteration) {
		s.metric.Add(s.state.x)
	}
	if s.windows.closes(iteration) && s.metric.Update() {
		s.evaluate(&s.state) // the gradient in the new metric
		s.fresh = true
	}
	if iteration+1 == warmup {
		s.stepSize.Settle()
	}
}

// searchStepSize doubles or halves ε until the acceptance of a single step
// crosses the target, and starts the adaptation there (Hoffman & Gelman 2014,
// algorithm 4).
func (s *Sampler) searchStepSize(rng *rand.Rand) {
	s.fresh = false
	epsilon := s.stepSize.Value()
	factor := 0.0
	for range 100 {
		s.forward.copy(&s.state)
		s.forward.refresh(rng)
		energy := s.forward.energy()
		s.leap(&s.forward, epsilon)
		gain := energy - s.forward.energy()
		up := gain > math.Log(s.options.TargetAccept)
		if factor == 0 {
			factor = 0.5
			if up {
				factor = 2
			}
		}
		if up != (factor > 1) || s.err != nil {
			break
		}
		epsilon *= factor
	}
	s.stepSize.Restart(epsilon, 10*epsilon)
}
