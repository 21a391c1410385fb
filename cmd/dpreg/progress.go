package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/table"
)

// isTerminal tells whether bars may be drawn.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && cwriter.IsTerminal(int(f.Fd()))
}

// readingBar shows how many bytes of the files are read, where stderr is a terminal:
// their size is no secret, unlike the number of rows. The bar is gone after finish. Of
// standard input the size is not known, 0.
func readingBar(stderr io.Writer, rows *table.Source, size int64) (finish func()) {
	if !isTerminal(stderr) {
		return func() {}
	}
	how := decor.Percentage()
	if size == 0 {
		how = decor.CurrentKibiByte("% .1f")
	}
	container := mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(40))
	bar := container.AddBar(size, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("reading rows ")), mpb.AppendDecorators(how))
	rows.Progress = bar.IncrInt64
	return func() {
		bar.Abort(true)
		container.Wait()
		rows.Progress = nil
	}
}

// sampling shows how far the chains are and how much time is left, where stderr is a
// terminal: a bar for the steps of warm-up, then one for the draws or the effective sample
// size.
type sampling struct {
	stderr       io.Writer
	container    *mpb.Progress
	warmup, draw *mpb.Bar
	plan         mcmc.Plan
	pace         *pace
	text, left   atomic.Pointer[string] // beside the bars; another goroutine draws them
}

// samplingBar is nil, which is a bar that shows nothing, where none is drawn.
func samplingBar(stderr io.Writer, plan mcmc.Plan) *sampling {
	if !isTerminal(stderr) {
		return nil
	}
	return &sampling{stderr: stderr, plan: plan}
}

// begin draws the first bar, once the run is under way: notes on it stand above.
func (s *sampling) begin() {
	s.pace = newPace(0, time.Now())
	s.left.Store(new(string))
	s.container = mpb.New(mpb.WithOutput(s.stderr), mpb.WithWidth(40))
	s.warmup = s.container.AddBar(int64(s.plan.Chains*s.plan.Warmup), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(fmt.Sprintf("warm-up, %d chains ", s.plan.Chains))), mpb.AppendDecorators(decor.Percentage(), s.remaining()))
}

// remaining writes how much time is left.
func (s *sampling) remaining() decor.Decorator {
	return decor.Any(func(decor.Statistics) string { return *s.left.Load() })
}

// update is a plan's Progress.
func (s *sampling) update(p mcmc.Progress) {
	if s == nil {
		return
	}
	if s.container == nil {
		s.begin()
	}
	left := s.pace.left(p.Done, p.Total, time.Now())
	if p.Target > 0 && p.ESS == 0 { // how long it is to be, that check tells
		left = strings.Replace(left, "left", "to the first check of ESS", 1)
	}
	s.left.Store(&left)
	steps := s.plan.Chains * s.plan.Warmup
	s.warmup.SetCurrent(int64(min(p.Done, steps)))
	if p.Phase != mcmc.Sampling {
		return
	}
	kept, total := max(0, p.Done-steps), s.plan.Chains*s.plan.Draws
	text := fmt.Sprintf("%d of %d draws", kept, total)
	if s.plan.Draws == 0 {
		text = fmt.Sprintf("ESS %.0f of %.0f, %d draws", p.ESS, p.Target, kept)
		kept, total = int(p.ESS), int(math.Ceil(p.Target))
	}
	s.text.Store(&text)
	if s.draw == nil {
		show := func(decor.Statistics) string { return " " + *s.text.Load() }
		s.draw = s.container.AddBar(int64(total), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name("sampling ")), mpb.AppendDecorators(decor.Any(show), s.remaining()))
	}
	s.draw.SetCurrent(int64(min(kept, total)))
}

// finish takes the bars away.
func (s *sampling) finish() {
	if s == nil || s.container == nil {
		return
	}
	s.warmup.Abort(true)
	if s.draw != nil {
		s.draw.Abort(true)
	}
	s.container.Wait()
}

// longRun is from where on a run is announced with the time that it is to take.
const longRun = time.Minute

// announce says how long a run of mcmc-ind is to take, where that is long.
func (f *inferFlags) announce(stderr io.Writer, rows int64) func(least, most time.Duration) {
	return func(least, most time.Duration) {
		if most < longRun {
			return
		}
		instead := "; mcmc-exact has the same posterior, at a cost that does not"
		if f.clamping {
			instead = ""
		}
		note(stderr, "this run is expected to take from %s to %s: the cost of mcmc-ind grows with the rows, n = %d%s", inWords(least), inWords(most), rows, instead)
	}
}

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
