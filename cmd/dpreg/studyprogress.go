package main

import (
	"io"
	"time"
)

// studyProgress shows how far a study is and how much time is left: a bar where stderr
// is a terminal, else a line a minute, since a study may run for hours.
type studyProgress struct {
	stderr io.Writer
	pace   *pace
	bar    *counting
	said   time.Time
}

// sayEvery is the time between two lines.
const sayEvery = time.Minute

// newStudyProgress is that of a study of which so many trials were finished before.
func newStudyProgress(stderr io.Writer, before int) *studyProgress {
	now := time.Now()
	return &studyProgress{stderr: stderr, pace: newPace(before, now), said: now}
}

// update is a study's Progress.
func (p *studyProgress) update(done, total int) {
	if isTerminal(p.stderr) {
		if p.bar == nil {
			p.bar = countingBar(p.stderr, "trials ", total)
			p.bar.pace = p.pace
		}
		p.bar.update(done, total)
		return
	}
	now := time.Now()
	left := p.pace.left(done, total, now)
	if now.Sub(p.said) >= sayEvery {
		p.said = now
		note(p.stderr, "%d of %d trials%s", done, total, left)
	}
}

// finish takes the bar away.
func (p *studyProgress) finish() { p.bar.finish() }
