// Package audit attacks releases, to see how much privacy they give: it publishes two
// neighbouring data sets over and over, by the whole path from rows to release, and
// guesses from each release which of the two it was.
//
// Who can tell them apart better than ε and δ allow has found a fault, whatever it is:
// the bounds below hold for every mechanism and every rule of guessing. The pair is
// the worst that there is (docs/sensitivity.md), the rule the most powerful (Neyman &
// Pearson 1933), so that the bound comes close to the claim where that is exact.
//
// Many columns leave a likelihood ratio near its maximum too rarely for that. So the
// noise, which the auditor knows since the sums are known, is also held against its
// exact law, entry by entry. docs/audit.md has the proofs and what was found.
package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/table"
)

// FalseAlarm is the probability with which the bounds of one audit are wrong, at least
// one of them; and the probability with which a sound release fails its checks.
const FalseAlarm = 1e-5

// Least and most of what an audit takes. Below MinEpsilon sums no longer fit in the 53
// bits of a float64, and of several steps below leastInSteps; MaxReleases keeps releases in
// memory, 16 bytes each.
const (
	leastInSteps = 0.1

	MinReleases = 1000
	MaxReleases = 100_000_000
	MinEpsilon  = 0.01
	MaxEpsilon  = 100
	MaxColumns  = 20
)

// Audit says what is audited.
type Audit struct {
	Columns  int             // m: covariates and response
	Privacy  release.Privacy // what is claimed
	Noise    release.Kind    // release.Laplace, release.Gaussian or ssp.Auto; of several steps release.Ball in place of Laplace
	Steps    int             // custody.Order's
	Releases int             // on average, of each of the two data sets; a tenth more go into the pilot

	Seed     uint64                // of the coins that choose a data set, not of the noise
	Workers  int                   // 1 or more; results do not depend on it
	Progress func(done, total int) // called by one goroutine at a time; may be nil
}

// Result is what an audit found.
type Result struct {
	Columns  int             `json:"columns"`
	Steps    int             `json:"steps"`
	Privacy  release.Privacy `json:"privacy"`
	Noise    release.Noise   `json:"noise"`    // that the claim calls for
	Releases int             `json:"releases"` // of each side, on average
	Pilot    int             `json:"pilot"`    // of both sides, beside them
	Bounds   []Bound         `json:"bounds"`
	Checks   []Check         `json:"checks"`
}

// Failures says in words what is wrong; nothing if nothing is.
func (r *Result) Failures() []string {
	var failures []string
	for _, b := range r.Bounds {
		if b.Certified > b.Claim {
			failures = append(failures, fmt.Sprintf("%s is at least %.6g, and %.6g is claimed", b.Quantity, b.Certified, b.Claim))
		}
	}
	for _, c := range r.Checks {
		if !c.Passed {
			failures = append(failures, c.Failure)
		}
	}
	return failures
}

// Run audits a path. Errors: those of Settle and of the path, a context that is done.
func (a *Audit) Run(ctx context.Context, path Path) (*Result, error) {
	if err := a.Settle(); err != nil {
		return nil, err
	}
	b, err := a.open(ctx, path)
	if err != nil {
		return nil, err
	}
	trials := 2 * a.Releases
	pilot := trials / 10
	done := 0
	progress := func(n int) {
		if done += n; a.Progress != nil {
			a.Progress(done, pilot+trials)
		}
	}
	questions := a.questions(b.noise)
	before, err := b.run(ctx, 0, pilot, nil, progress)
	if err != nil {
		return nil, err
	}
	limits := make([]float64, len(questions))
	for i, q := range questions {
		limits[i] = q.threshold(before.guesses, trials)
	}
	t, err := b.run(ctx, pilot, trials, limits, progress)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: a.Columns, Steps: a.Steps, Privacy: a.Privacy, Noise: b.noise, Releases: a.Releases, Pilot: pilot, Checks: b.checks(t)}
	for i, q := range questions {
		r.Bounds = append(r.Bounds, q.answer(limits[i], t.scores[i]))
	}
	return r, nil
}

// Settle chooses the noise where that is ssp.Auto, and refuses what cannot be audited.
func (a *Audit) Settle() error {
	switch {
	case a.Columns < 2 || a.Columns > MaxColumns:
		return fmt.Errorf("%d columns: an audit takes 2 to %d, the response among them", a.Columns, MaxColumns)
	case a.Releases < MinReleases || a.Releases > MaxReleases:
		return fmt.Errorf("%d releases of a side: an audit takes %d to %d", a.Releases, MinReleases, MaxReleases)
	case !(a.Privacy.Epsilon >= MinEpsilon && a.Privacy.Epsilon <= MaxEpsilon):
		return fmt.Errorf("epsilon %v: an audit takes %v to %v", a.Privacy.Epsilon, MinEpsilon, MaxEpsilon)
	case a.Workers < 1:
		return errors.New("an audit needs a worker")
	}
	s, err := a.order(custody.Scaled{})
	if err != nil {
		return err
	}
	a.Noise, a.Privacy, a.Steps = s.Mechanism, s.Privacy, s.Steps
	if a.Steps > 1 && a.Privacy.Epsilon < leastInSteps {
		return fmt.Errorf("epsilon %v: an audit of several steps takes %v to %v", a.Privacy.Epsilon, leastInSteps, MaxEpsilon)
	}
	return nil
}

// Path is a way from rows to releases. It reads a table, CSV in the data's units, and
// returns what publishes it: with fresh noise at each call, by any number of goroutines
// at once. trial numbers the calls of an audit, for paths that are to be repeatable.
type Path func(ctx context.Context, csv string) (publisher, error)

type publisher = func(ctx context.Context, trial int) (*release.Release, error)

// Released is the path of custody.Publish, with the noise of the operating system, but that
// rows are read and summed once.
func (a *Audit) Released() Path {
	return a.released(func(int) *mechanisms.Entropy { return nil })
}

func (a *Audit) released(entropy func(trial int) *mechanisms.Entropy) Path {
	return func(ctx context.Context, csv string) (publisher, error) {
		rows, err := a.read(ctx, table.CSV(strings.NewReader(csv), "pair", a.design()))
		if err != nil {
			return nil, err
		}
		order, err := a.order(rows)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, trial int) (*release.Release, error) {
			o := *order
			o.Entropy = entropy(trial)
			return o.Publish(ctx)
		}, nil
	}
}

// read sums the rows, or keeps them where they are to be looked at in several steps.
func (a *Audit) read(ctx context.Context, rows iter.Seq2[[]float64, error]) (custody.Source, error) {
	kept := custody.Scaled{Name: "pair"}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		kept.Rows = append(kept.Rows, row...)
	}
	if a.Steps > 1 {
		return kept, ctx.Err()
	}
	s, err := custody.Exact(ctx, custody.Order{Rows: kept, Design: a.design()})
	return custody.Summed(s), err
}

// order is that of a release of rows.
func (a *Audit) order(rows custody.Source) (*custody.Settled, error) {
	o := custody.Order{Rows: rows, Design: a.design(), Privacy: a.Privacy, Mechanism: a.Noise, Steps: a.Steps}
	if a.Steps > 1 && a.counted() {
		o.StatedRows = commonRows
	}
	return custody.Settle(o)
}
