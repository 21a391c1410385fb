// Package trials is a Beam pipeline that runs the trials of a study, each an element. What
// a trial gives depends on the study and its numbers alone, so results are those of a run
// on one machine, whatever the engine, the order and the number of attempts.
package trials

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/beam/staging"
	"github.com/dpreg/dpreg/calibration"
)

// kind is that of files in the staging directory.
const kind = "trials"

// collectEvery is how often trials are looked for while a job runs.
const collectEvery = 10 * time.Second

// Run runs the trials of a study that are not done, and gives each to keep, once, in any
// order and while the job runs. Errors: those of Open and keep, what the engine says where
// job.Run gives up; trials that were kept stay kept.
func Run(ctx context.Context, e job.Engine, dir staging.Dir, s Study, done []*calibration.Trial, keep func(*calibration.Trial) error) error {
	study, err := s.Open()
	if err != nil {
		return err
	}
	c := &collector{dir: dir, keep: keep, done: make(map[Task]bool)}
	for _, t := range done {
		c.done[Task{t.Cell, t.Trial}] = true
	}
	stop := c.begin(context.WithoutCancel(ctx))
	err = e.Run(ctx, func() *beam.Pipeline { return pipeline(dir, s, c.missing(study)) })
	if failed := stop(); failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	if left := len(c.missing(study)); left > 0 {
		return fmt.Errorf("the job ended without %d of its trials: can its workers write to the staging directory?", left)
	}
	return nil
}

// pipeline runs tasks.
func pipeline(dir staging.Dir, study Study, tasks []Task) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, &run{Dir: dir, Study: study}, beam.Reshuffle(s, beam.CreateList(s, tasks)))
	return p
}

// collector gathers what workers have written.
type collector struct {
	dir  staging.Dir
	keep func(*calibration.Trial) error

	mu   sync.Mutex
	done map[Task]bool
	err  error
}

// begin gathers from time to time, until it is stopped, which gathers once more.
func (c *collector) begin(ctx context.Context) (stop func() error) {
	end := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(collectEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.collect(ctx)
			case <-end:
				return
			}
		}
	})
	return func() error {
		close(end)
		running.Wait()
		c.collect(ctx)
		return c.err
	}
}

// collect keeps the trials that are new. Engines may run one twice, with the same result.
func (c *collector) collect(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	var files [][]byte
	if files, c.err = c.dir.Read(ctx, kind); c.err != nil {
		return
	}
	for _, text := range files {
		var found []*calibration.Trial
		if c.err = json.Unmarshal(text, &found); c.err != nil {
			return
		}
		for _, t := range found {
			k := Task{t.Cell, t.Trial}
			if c.done[k] {
				continue
			}
			if c.err = c.keep(t); c.err != nil {
				return
			}
			c.done[k] = true
		}
	}
}

// missing lists the tasks that are not done, the first trials of all cells first.
func (c *collector) missing(s *calibration.Study) (tasks []Task) {
	c.collect(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	for trial := range s.Trials {
		for cell := range s.Cells {
			if k := (Task{cell, trial}); !c.done[k] {
				tasks = append(tasks, k)
			}
		}
	}
	return tasks
}
