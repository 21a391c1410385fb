package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// studyProgress shows how far a study is and how much time is left: a bar where stderr
// is a terminal, else a line a minute, since a study may run for hours.
type studyProgress struct {
	stderr    io.Writer
	begin     time.Time
	before    int // trials that were finished at the beginning
	container *mpb.Progress
	bar       *mpb.Bar
	said      time.Time
}

// sayEvery is the time between two lines.
const sayEvery = time.Minute

func newStudyProgress(stderr io.Writer, before int) *studyProgress {
	now := time.Now()
	p := &studyProgress{stderr: stderr, begin: now, said: now, before: before}
	if isTerminal(stderr) {
		p.container = mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(40))
	}
	return p
}

// update is a study's Progress.
func (p *studyProgress) update(done, total int) {
	switch {
	case p.container != nil:
		p.draw(done, total)
	case time.Since(p.said) >= sayEvery:
		p.said = time.Now()
		note(p.stderr, "%d of %d trials, %v left", done, total, p.remaining(done, total))
	}
}

// remaining is the time left, if the trials to come take as long as those so far.
func (p *studyProgress) remaining(done, total int) time.Duration {
	each := float64(time.Since(p.begin)) / float64(done-p.before)
	return time.Duration(each * float64(total-done)).Round(time.Second)
}

func (p *studyProgress) draw(done, total int) {
	if p.bar == nil {
		text := func(s decor.Statistics) string {
			return fmt.Sprintf(" %d of %d, %v left", s.Current, s.Total, p.remaining(max(p.before+1, int(s.Current)), int(s.Total)))
		}
		p.bar = p.container.AddBar(int64(total), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name("trials ")), mpb.AppendDecorators(decor.Any(text)))
	}
	p.bar.SetCurrent(int64(done))
}

// finish takes the bar away.
func (p *studyProgress) finish() {
	if p.bar != nil {
		p.bar.Abort(true)
	}
	if p.container != nil {
		p.container.Wait()
	}
}
