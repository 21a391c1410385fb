package main

import (
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// refits shows how many are done, where stderr is a terminal.
type refits struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

// refitBar is nil, which is a bar that shows nothing, where none is drawn.
func refitBar(stderr io.Writer, count int) *refits {
	if count == 0 || !isTerminal(stderr) {
		return nil
	}
	r := &refits{container: mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(40))}
	r.bar = r.container.AddBar(int64(count+1), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("refits ")), mpb.AppendDecorators(decor.CountersNoUnit("%d of %d")))
	return r
}

func (r *refits) update(done, _ int) {
	if r != nil {
		r.bar.SetCurrent(int64(done))
	}
}

func (r *refits) finish() {
	if r != nil {
		r.bar.Abort(true)
		r.container.Wait()
	}
}
