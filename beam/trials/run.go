package trials

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpreg/dpreg/beam/staging"
	"github.com/dpreg/dpreg/calibration"
)

func init() { register.DoFn2x1[context.Context, Task, error](&run{}) }

// Task is one trial of one cell, both counted from 0.
type Task struct{ Cell, Trial int }

// writeEvery is how much of a worker's time may be lost when it is killed.
const writeEvery = 10 * time.Second

// processors are those of the worker. Engines may give it one bundle at a time, whose
// elements come one after another: it runs as many of them at once as it has processors.
var processors = make(chan struct{}, runtime.GOMAXPROCS(0))

// run runs trials and writes them to the staging directory.
type run struct {
	Dir   staging.Dir
	Study Study

	study   *calibration.Study
	running sync.WaitGroup

	mu       sync.Mutex
	finished []*calibration.Trial
	written  time.Time
	err      error
}

func (f *run) Setup() (err error) {
	f.study, err = f.Study.Open()
	return err
}

func (f *run) StartBundle(context.Context) {
	f.finished, f.written, f.err = nil, time.Now(), nil
}

func (f *run) ProcessElement(ctx context.Context, k Task) error {
	processors <- struct{}{}
	f.running.Go(func() {
		defer func() { <-processors }()
		f.do(ctx, k)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *run) do(ctx context.Context, k Task) {
	t, err := f.study.Trial(ctx, k.Cell, k.Trial)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.finished = append(f.finished, t)
		if time.Since(f.written) > writeEvery {
			err = f.write(ctx)
		}
	}
	f.err = errors.Join(f.err, err)
}

func (f *run) FinishBundle(ctx context.Context) error {
	f.running.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.err, f.write(ctx))
}

// write writes the trials that were not written yet.
func (f *run) write(ctx context.Context) error {
	if len(f.finished) == 0 {
		return nil
	}
	text, err := json.Marshal(f.finished)
	if err != nil {
		return err
	}
	f.finished, f.written = nil, time.Now()
	return f.Dir.Write(ctx, kind, text)
}
