// Package calibration asks whether posteriors are right: it draws parameters
// from the prior, data from the parameters, samples the posterior given the
// data, and looks where among its draws the truth lies. If and only if the draws
// come from the posterior is the truth's rank uniform, for every quantity
// (Cook, Gelman & Rubin 2006, Journal of Computational and Graphical Statistics
// 15(3); Talts, Betancourt, Simpson, Vehtari & Gelman 2018, arXiv:1804.06788).
//
// A Study is a list of cells, each a Subject: whatever can do one such trial. A
// Design is a study of the regression of package dpreg, over numbers of rows,
// budgets ε, covariates and methods; Fig3 and Fig4 are those of Bernstein &
// Sheldon (2019), Differentially Private Bayesian Linear Regression, NeurIPS. A Design
// of a population takes its truths from real rows in place of the prior, and asks for
// coverage beside that of least squares. A comparison puts many methods to the same data: those
// that infer from a release, variational inference on rows, AdaSSP and the posterior without
// privacy; docs/compare.md says how each is set, and why so. What comes of real rows is computed
// from them without any mechanism: it is for those who may see them.
//
// Results are data: package report writes tables and draws pictures of them.
package calibration

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// Subject is what is on trial: a model together with a sampler of its posterior.
type Subject interface {
	// Trial draws a truth and data from the model with the generator data, and
	// the posterior given those data with the generator sampler, and takes no
	// randomness from elsewhere. Several goroutines call it at once.
	//
	// An error other than ctx's is a result: the trial is kept and counted as
	// failed, and the study goes on.
	Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error)
}

// Sample is what one trial gives: quantities with a truth and draws, or measures, or
// both.
type Sample struct {
	// Names are those of the quantities, in the same order in every trial. A
	// name that stands several times is of quantities that are alike; a summary
	// pools them.
	Names []string
	// Truth is each quantity's true value.
	Truth []float64
	// Draws are of the posterior: column j is quantity j. At least Ranked of
	// them, over all chains.
	Draws *posterior.Draws
	// Coefficients, if not nil, say more of each quantity: a coefficient in a population.
	Coefficients []Coefficient
	// Reference are draws of the first quantities, as many as it has columns,
	// from a posterior to compare with by MMD; nil compares with none.
	Reference *posterior.Draws
	// Capped: the sampler stopped at its limit before it reached the effective
	// sample size that it was to reach.
	Capped bool
	// Clamped is the share of simulated values that were clamped to their bounds.
	Clamped float64
	// Measures are numbers that the subject itself makes of the trial. They are kept, and
	// a Summary leaves them to whoever knows what they mean.
	Measures []Measure
	// Seconds that the sampler took; 0 stands for all of the trial.
	Seconds float64
}

// Measure is a number with a name.
type Measure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Setting names a cell: two cells of a study differ in it. What a study does not
// vary stays zero. Method names the sampler; cells that differ only in Method,
// Kernel, Sensitivity and Run see the same data.
type Setting struct {
	N           int64   `json:"n,omitempty"`
	Epsilon     float64 `json:"epsilon,omitempty"`
	P           int     `json:"p,omitempty"`
	Method      string  `json:"method"`
	Kernel      string  `json:"kernel,omitempty"`
	Sensitivity string  `json:"sensitivity,omitempty"`
	Run         string  `json:"run,omitempty"` // how long the sampler runs
}

// Cell is a subject under its setting.
type Cell struct {
	Setting
	Subject Subject
}

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
	// Population is the name of the table from which rows are taken; empty: there is none.
	Population string
	// Note is what a reader of the results should know, a sentence or more.
	Note string
	// Compares: trials have the measures of a comparison, of Family, at Delta.
	Compares bool
	Family   model.Family
	Delta    float64
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
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Run runs the trials that are not done, and returns all of the shard in order of
// cell and trial. Where ctx is done it returns ctx's error; trials that are running
// then are lost, and those that were kept are not.
func (s *Study) Run(ctx context.Context, o Options) ([]*Trial, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	trials, tasks := make([]*Trial, len(s.Cells)*s.Trials), []task(nil)
	for _, t := range o.Done {
		trials[t.Cell*s.Trials+t.Trial] = t
	}
	done := len(present(trials))
	// The first trials of all cells come first: so the time that is left can be told from
	// the time that went by.
	for trial := range s.Trials {
		for cell := range s.Cells {
			if o.Shard.has(trial*len(s.Cells)+cell) && trials[cell*s.Trials+trial] == nil {
				tasks = append(tasks, task{cell, trial})
			}
		}
	}
	total := done + len(tasks)
	var mu sync.Mutex
	err := parallel.Each(ctx, o.Workers, len(tasks), nil, func(ctx context.Context, i int) error {
		t, err := s.Trial(ctx, tasks[i].cell, tasks[i].trial)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if o.Keep != nil {
			if err := o.Keep(t); err != nil {
				return err
			}
		}
		trials[t.Cell*s.Trials+t.Trial] = t
		if done++; o.Progress != nil {
			o.Progress(done, total)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return present(trials), nil
}

// task is a trial of a cell.
type task struct{ cell, trial int }

// present are the trials that are there.
func present(trials []*Trial) []*Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t *Trial) bool { return t == nil })
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

// Runtime is how long the trials of a cell took, a core each: simulation, sampling
// and what is computed of the draws; in a comparison inference alone, where it did not fail.
type Runtime struct {
	Setting
	Median float64 // seconds
}

// Runtimes are those of the cells, in their order.
func (s *Study) Runtimes(trials []*Trial) []Runtime {
	seconds := make([][]float64, len(s.Cells))
	for _, t := range trials {
		if !s.Compares || t.Error == "" {
			seconds[t.Cell] = append(seconds[t.Cell], t.Seconds)
		}
	}
	times := make([]Runtime, len(s.Cells))
	for i, c := range s.Cells {
		times[i].Setting = c.Setting
		if m := median(seconds[i]); m != nil {
			times[i].Median = *m
		}
	}
	return times
}
