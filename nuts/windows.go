package nuts

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
