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
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
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
		rows, err := a.read(ctx, table.Options{}.CSV(strings.NewReader(csv), "pair", a.design()))
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
	o := custody.Order{Rows: rows, Design: a.design(), Privacy: a.Privacy, Mechanism: a.Noise, Steps: a.Steps, NoLedger: true}
	if a.Steps > 1 && a.counted() {
		o.StatedRows = commonRows
	}
	return custody.Settle(o)
}

// Bounds of every column. They are not symmetric, and the largest values of the pair lie
// outside, so that clamping and scaling are audited too: a value x in the data's
// units is (x + 1)/2 in scaled ones, after clamping.
const lower, upper = -3, 1

// side is one of the two neighbouring data sets.
type side struct {
	text string      // CSV, in the data's units
	rows [][]float64 // in scaled units
	sums []float64   // of them in the box: the statistics in scaled units, exact multiples of 2^-40; n before them where it has noise
}

// pair returns the two neighbouring data sets that are furthest apart, for which
// docs/sensitivity.md has the proofs. A row of zeros is common to both. The others:
//
//	replace-one, Laplace noise    (1, …, 1) and −(1, …, 1)/(m+1)
//	replace-one, Gaussian noise   (1, …, 1) and that with ⌊(m+1)/2⌋ signs turned
//	add-remove                    (1, …, 1) and no row
//
// Of several steps, where common rows are to say where the frame is, there are commonRows; the
// others are those of Gaussian noise, in the corners of the box, and are clipped in most frames.
func (a *Audit) pair() [2]side {
	m := a.Columns
	first, second := make([]float64, m), make([]float64, m)
	for j := range m {
		first[j], second[j] = 1, -1/float64(m+1)
		if a.Noise != release.Laplace {
			second[j] = 1
			if j < (m+1)/2 {
				second[j] = -1
			}
		}
	}
	common := [][]float64{make([]float64, m)}
	if a.Steps > 1 {
		common = cluster(m)
	}
	with := func(row []float64) side { return a.side(append(slices.Clip(common), row)...) }
	if a.counted() {
		return [2]side{with(first), a.side(common...)}
	}
	return [2]side{with(first), with(second)}
}

// commonRows is the number of rows that a pair has in common where it has many.
const commonRows = 1000

// cluster are common rows, narrow and tilted in the box.
func cluster(m int) (rows [][]float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range commonRows {
		row, before := make([]float64, m), 0.3
		for j := range row {
			before = 0.5*before + 0.12*rng.NormFloat64()
			row[j] = min(max(before, -1), 1)
		}
		rows = append(rows, row)
	}
	return rows
}

// counted tells whether n has noise.
func (a *Audit) counted() bool { return a.Privacy.Neighbours == release.AddRemove }

// side writes rows, given in scaled units, and sums them.
func (a *Audit) side(rows ...[]float64) side {
	m := a.Columns
	var s side
	for _, column := range a.design().Columns() {
		s.text += column.Name + ","
	}
	s.text = strings.TrimSuffix(s.text, ",") + "\n"
	sums := make([]float64, release.Length(m))
	for _, row := range rows {
		cells := make([]string, m)
		v := make([]float64, m)
		s.rows = append(s.rows, v)
		for j, x := range row {
			v[j] = math.Floor(x*lattice+0.5) / lattice
			if x = 2*x - 1; x == lower || x == upper {
				x += math.Copysign(2, x) // a value on a bound lies beyond it
			}
			cells[j] = strconv.FormatFloat(x, 'g', -1, 64)
		}
		s.text += strings.Join(cells, ",") + "\n"
		calibration.AddSums(sums, v)
	}
	if a.counted() {
		s.sums = append(s.sums, float64(len(rows)))
	}
	s.sums = append(s.sums, sums...)
	return s
}

// lattice is the number of values that a scaled value of 1 has below it.
const lattice = 1 << ssp.LatticeBits

// design has the columns of the pair.
func (a *Audit) design() *schema.Design {
	d := dpreg.UnitDesign(a.Columns - 1)
	d.Response.Lower, d.Response.Upper = lower, upper
	for j := range d.Covariates {
		d.Covariates[j].Lower, d.Covariates[j].Upper = lower, upper
	}
	return d
}
