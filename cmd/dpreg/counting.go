package main

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// counting shows how many of a number of things are done and how much time is left, where
// stderr is a terminal.
type counting struct {
	container *mpb.Progress
	bar       *mpb.Bar
	total     int
	pace      *pace
	left      atomic.Pointer[string] // another goroutine draws it
}

// countingBar is nil, which is a bar that shows nothing, where none is drawn.
func countingBar(stderr io.Writer, name string, total int) *counting {
	if !isTerminal(stderr) {
		return nil
	}
	c := &counting{container: mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(40)), total: total, pace: newPace(0, time.Now())}
	c.left.Store(new(string))
	c.bar = c.container.AddBar(int64(total), mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name(name)),
		mpb.AppendDecorators(decor.CountersNoUnit(" %d of %d"), decor.Any(func(decor.Statistics) string { return *c.left.Load() })))
	return c
}

func (c *counting) update(done, _ int) {
	if c == nil {
		return
	}
	left := c.pace.left(done, c.total, time.Now())
	c.left.Store(&left)
	c.bar.SetCurrent(int64(done))
}

// finish takes the bar away.
func (c *counting) finish() {
	if c != nil {
		c.bar.Abort(true)
		c.container.Wait()
	}
}

// pace tells how much time is left by the speed of late: over the last half of the time
// that has passed, or more.
type pace struct{ old, late milestone }

// milestone is when so much was done.
type milestone struct {
	at   time.Time
	done int
}

func newPace(done int, now time.Time) *pace {
	begin := milestone{now, done}
	return &pace{begin, begin}
}

// atLeast is how long a pace must have been kept to be told.
const atLeast = time.Second

// left says how much time is left; empty as long as it is not known, or not long.
func (p *pace) left(done, total int, now time.Time) string {
	if now.Sub(p.late.at) >= p.late.at.Sub(p.old.at) && done > p.late.done {
		p.old, p.late = p.late, milestone{now, done}
	}
	passed := now.Sub(p.old.at)
	if passed < atLeast || done <= p.old.done || done >= total {
		return ""
	}
	each := float64(passed) / float64(done-p.old.done)
	return ", " + inWords(time.Duration(each*float64(total-done))) + " left"
}

// inWords is a time in whole seconds, minutes or hours, of which there are more than one.
func inWords(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", max(1, d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Hours()), ".0") + " h"
}
