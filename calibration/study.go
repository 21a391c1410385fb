package calibration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/mcmc"
)

// Study is what is to be run: so many trials of each cell. The randomness of a
// trial comes from Seed, the cell's Setting and the trial's number alone.
type Study struct {
	Cells  []Cell
	Trials int
	Seed   uint64
	// Description tells this study from others of the same cells, for a journal.
	Description []byte
	// Uniform: a right sampler's ranks are uniform here. It is false where the
	// data are not the model's, which is then what coverage measures.
	Uniform bool
	// Population is the name of the table from which rows are drawn; empty: there is none.
	Population string
	// Note is what a reader of the results should know, a sentence or more.
	Note string
}

// Options say how a study is run; the zero value serves. Results depend on none of
// them but Shard.
type Options struct {
	// Workers is the number of trials that are worked on at once, 0 for GOMAXPROCS.
	Workers int
	// Shard is the part of the trials to run; the zero value is all of them.
	Shard Shard
	// Done are trials that are finished, and not run again.
	Done []*Trial
	// Keep, if not nil, is given each trial as it is finished, by one goroutine at a
	// time; its error ends the run.
	Keep func(*Trial) error
	// Progress, if not nil, is called after each trial, by one goroutine at a time.
	Progress func(done, total int)
}

// Shard is part Index of Count, from 1 on.
type Shard struct{ Index, Count int }

func (s Shard) String() string {
	if s.Count <= 1 {
		return "1/1"
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// has tells whether task k is in the shard.
func (s Shard) has(k int) bool { return s.Count <= 1 || k%s.Count == s.Index-1 }

// Validate returns an error unless there are cells, all different, and trials.
func (s *Study) Validate() error {
	if len(s.Cells) == 0 || s.Trials < 1 {
		return errors.New("a study needs cells and trials")
	}
	for i, c := range s.Cells {
		if c.Subject == nil {
			return fmt.Errorf("cell %v has no subject", c.Setting)
		}
		if slices.ContainsFunc(s.Cells[:i], func(o Cell) bool { return o.Setting == c.Setting }) {
			return fmt.Errorf("cell %v stands twice", c.Setting)
		}
	}
	return nil
}

// Fingerprint is the same for studies whose trials are the same.
func (s *Study) Fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %q", s.Trials, s.Seed, s.Description)
	for _, c := range s.Cells {
		fmt.Fprintf(h, " %+v", c.Setting)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Run runs the trials that are not done, and returns all of the shard in order of
// cell and trial. Where ctx is done it returns ctx's error; trials that are running
// then are lost, and those that were kept are not.
func (s *Study) Run(ctx context.Context, o Options) ([]*Trial, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	r := &running{study: s, options: o, trials: make([]*Trial, len(s.Cells)*s.Trials)}
	for _, t := range o.Done {
		r.trials[t.Cell*s.Trials+t.Trial] = t
	}
	tasks := r.tasks()
	r.total, r.done = r.finished()+len(tasks), r.finished()
	err := parallel.Each(ctx, o.Workers, len(tasks), nil, func(ctx context.Context, i int) error { return r.do(ctx, tasks[i]) })
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(r.trials, func(t *Trial) bool { return t == nil }), nil
}

// running is one call of Run.
type running struct {
	study   *Study
	options Options
	mu      sync.Mutex
	trials  []*Trial // [cell × trials + trial]
	done    int
	total   int
}

type task struct{ cell, trial int }

// tasks are the shard's trials to run, the first ones of all cells first: so the time
// that is left can be told from the time that went by.
func (r *running) tasks() []task {
	var tasks []task
	for trial := range r.study.Trials {
		for cell := range r.study.Cells {
			if r.options.Shard.has(trial*len(r.study.Cells)+cell) && r.trials[cell*r.study.Trials+trial] == nil {
				tasks = append(tasks, task{cell, trial})
			}
		}
	}
	return tasks
}

func (r *running) finished() (n int) {
	for _, t := range r.trials {
		if t != nil {
			n++
		}
	}
	return n
}

// do runs one trial and keeps it.
func (r *running) do(ctx context.Context, k task) error {
	t, err := r.study.Trial(ctx, k.cell, k.trial)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Keep != nil {
		if err := r.options.Keep(t); err != nil {
			return err
		}
	}
	r.trials[k.cell*r.study.Trials+k.trial] = t
	r.done++
	if r.options.Progress != nil {
		r.options.Progress(r.done, r.total)
	}
	return nil
}

// Trial runs one trial of one cell, both counted from 0. What it returns depends on the
// study and these numbers alone, Seconds aside. Its only error is ctx's: what a subject
// refuses is in the Trial. It panics if there is no such cell.
func (s *Study) Trial(ctx context.Context, cell, trial int) (*Trial, error) {
	begin, c := time.Now(), s.Cells[cell]
	sampler := s.stream(c.Setting, trial)
	sample, err := c.Subject.Trial(ctx, s.stream(c.Setting.data(), trial), sampler)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t := &Trial{}
	if err == nil {
		t, err = score(sample, sampler)
	}
	if err != nil {
		t = &Trial{Error: err.Error()}
	}
	if t.Seconds == 0 {
		t.Seconds = time.Since(begin).Seconds()
	}
	t.Cell, t.Trial = cell, trial
	return t, nil
}

// data is the part of a setting that the data depend on.
func (c Setting) data() Setting { return Setting{N: c.N, Epsilon: c.Epsilon, P: c.P} }

// stream is the generator of a trial under a setting.
func (s *Study) stream(c Setting, trial int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %+v", s.Seed, c)
	return mcmc.Stream(h.Sum64(), trial)
}
