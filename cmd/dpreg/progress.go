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

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/pace"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/saved"
	"github.com/dpreg/dpreg/table"
)

// isTerminal tells whether bars may be drawn.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && cwriter.IsTerminal(int(f.Fd()))
}

// terminalWidth is that of the terminal behind w in characters, 0 where there is none.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := cwriter.GetSize(int(f.Fd())); err == nil {
			return min(width, widestText)
		}
	}
	return 0
}

// widestText is the length of a line beyond which a text is hard to read.
const widestText = 110

// readingBar shows how many bytes of the files are read, done of them before this time, where
// stderr is a terminal: their size is no secret, unlike the number of rows. The bar is gone
// after finish. Of standard input the size is not known, 0.
func readingBar(stderr io.Writer, rows *table.Source, done, size int64) (finish func()) {
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
	bar.SetCurrent(done)
	rows.Progress = bar.IncrInt64
	return func() {
		bar.Abort(true)
		container.Wait()
		rows.Progress = nil
	}
}

// bar shows how far a thing is and how much time is left, where stderr is a terminal. It is
// drawn from the first update on: notes on the run stand above. Elsewhere a study, which may run
// for hours, says it in a line a minute.
type bar struct {
	stderr    io.Writer
	name      string
	drawn     bool
	said      time.Time // the last line, where no bar is drawn
	container *mpb.Progress
	bar       *mpb.Bar
	pace      *pace.Pace
	text      atomic.Pointer[string] // behind the bar; another goroutine draws it
}

func newBar(stderr io.Writer, name string, p *pace.Pace) *bar {
	return &bar{stderr: stderr, name: name, drawn: isTerminal(stderr), said: time.Now(), pace: p}
}

// countingBar shows how many of a number of things are done.
func countingBar(stderr io.Writer, name string) *bar {
	return newBar(stderr, name, pace.New(0, time.Now()))
}

// sayEvery is the time between two lines.
const sayEvery = time.Minute

func (b *bar) update(done, total int) {
	b.show(done, total, fmt.Sprintf(" %d of %d%s", done, total, b.pace.Left(done, total, time.Now())))
}

func (b *bar) show(done, total int, text string) {
	if now := time.Now(); !b.drawn && now.Sub(b.said) >= sayEvery {
		b.said = now
		note(b.stderr, "%s%s", strings.TrimSpace(b.name), text)
	}
	if !b.drawn {
		return
	}
	b.text.Store(&text)
	if b.container == nil {
		b.container = mpb.New(mpb.WithOutput(b.stderr), mpb.WithWidth(40))
		b.bar = b.container.AddBar(int64(total), mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name(b.name)),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return *b.text.Load() })))
	}
	b.bar.SetCurrent(int64(min(done, total)))
}

func (b *bar) finish() {
	if b.container != nil {
		b.bar.Abort(true)
		b.container.Wait()
	}
}

// samplingBars show how far the chains are: a bar for the steps of warm-up, then one for the
// draws or the effective sample size.
type samplingBars struct {
	warmup, draws *bar
	plan          mcmc.Plan
}

func samplingBar(stderr io.Writer, plan mcmc.Plan) *samplingBars {
	p := pace.New(0, time.Now())
	return &samplingBars{newBar(stderr, fmt.Sprintf("warm-up, %d chains ", plan.Chains), p), newBar(stderr, "sampling ", p), plan}
}

func (s *samplingBars) update(p mcmc.Progress) {
	left := s.warmup.pace.Left(p.Done, p.Total, time.Now())
	if p.Target > 0 && p.ESS == 0 { // how long it is to be, that check tells
		left = strings.Replace(left, "left", "to the first check of ESS", 1)
	}
	steps := s.plan.Chains * s.plan.Warmup
	if p.Phase != mcmc.Sampling {
		s.warmup.show(p.Done, steps, fmt.Sprintf(" %d %%%s", 100*p.Done/steps, left))
		return
	}
	s.warmup.finish()
	kept := max(0, p.Done-steps)
	if total := s.plan.Chains * s.plan.Draws; total > 0 {
		s.draws.show(kept, total, fmt.Sprintf(" %d of %d draws%s", kept, total, left))
	} else {
		s.draws.show(int(p.ESS), int(math.Ceil(p.Target)), fmt.Sprintf(" ESS %.0f of %.0f, %d draws%s", p.ESS, p.Target, kept, left))
	}
}

func (s *samplingBars) finish() {
	s.warmup.finish()
	s.draws.finish()
}

// longRun is from where on a run is announced with the time that it is to take.
const longRun = time.Minute

// announce says how long a run is to take, where that is long, and why.
func (f *flags) announce(e *saved.Run) func(least, most time.Duration) {
	return func(least, most time.Duration) {
		if most < longRun {
			return
		}
		rows := int64(0)
		for _, c := range e.Custodians {
			rows += c.Release.N
		}
		why := fmt.Sprintf("the cost of mcmc-ind grows with the rows, n = %d", rows)
		switch latent := dpreg.Traits(f.method).Clamping; {
		case !latent && !f.clamping:
			why = fmt.Sprintf("the cost grows with the cube of the columns, %d; of a factor's levels a release by them (dpreg release --by-level, at most 50) takes less, and has less noise", e.Custodians[0].Release.Dim())
		case !f.clamping:
			why += "; mcmc-exact has the same posterior, at a cost that does not"
		}
		f.note("this run is expected to take from %s to %s: %s", pace.InWords(least), pace.InWords(most), why)
	}
}
