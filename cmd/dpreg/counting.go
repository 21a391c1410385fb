package main

import (
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// counting shows how many of a number of things are done, where stderr is a
// terminal.
type counting struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

// countingBar is nil, which is a bar that shows nothing, where none is drawn.
func countingBar(stderr io.Writer, name string, total int) *counting {
	if !isTerminal(stderr) {
		return nil
	}
	container := mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(40))
	bar := container.AddBar(int64(total), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(name)), mpb.AppendDecorators(decor.CountersNoUnit("%d of %d")))
	return &counting{container, bar}
}

func (c *counting) update(done, _ int) {
	if c != nil {
		c.bar.SetCurrent(int64(done))
	}
}

// finish takes the bar away.
func (c *counting) finish() {
	if c != nil {
		c.bar.Abort(true)
		c.container.Wait()
	}
}
