package custody

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Source is where the rows are: Files, which this process reads, Scaled, or Elsewhere.
type Source interface {
	// String is what messages call the rows.
	String() string
	// scan hands them on once: of a database that only sums, readable and others refuse what needs it.
	scan(ctx context.Context, s *Settled) scanner
	// stale says how they may be newer than a file; empty if they are not.
	stale(path string) (how string, err error)
}

// Exact sums the rows of an order without noise, for studies of whoever may see the rows.
// What it returns is as sensitive as they are.
func Exact(ctx context.Context, o Order) (*ssp.Statistics, error) {
	return (&Settled{Order: o}).sum(ctx)
}

// Elsewhere are rows that are not in files: a database or a cluster sums them, or they were summed
// before. For several looks a cluster sums them again, and a database delivers them.
type Elsewhere struct {
	Name string
	// Sum sums the columns of d in scaled units, exactly. Its errors are Publish's. If it is nil, Gather or Scan serves.
	Sum func(ctx context.Context, d *schema.Design, cells table.Options) (*ssp.Statistics, error)
	// Scan, if not nil, hands the rows in scaled units, some after others, to the sink. Errors
	// are as those of Sum.
	Scan func(ctx context.Context, d *schema.Design, cells table.Options, sink func(rows []float64) error) error
	// Gather, if not nil, makes a pass over the rows where they are. Errors are as those of Sum.
	Gather func(ctx context.Context, d *schema.Design, cells table.Options, pass ssp.Pass) (ssp.Summand, error)
	// Persons, if not nil, makes one over what the rows of each person become. Errors are as those of Sum.
	Persons func(ctx context.Context, d *schema.Design, cells table.Options, how persons.Grouping, pass ssp.Pass) (ssp.Summand, persons.Told, error)
}

// Summed are rows of which the sums are there.
func Summed(s *ssp.Statistics) Elsewhere {
	return Elsewhere{Name: "rows that were summed", Sum: func(context.Context, *schema.Design, table.Options) (*ssp.Statistics, error) { return s, nil }}
}

func (e Elsewhere) String() string { return e.Name }

func (e Elsewhere) scan(ctx context.Context, s *Settled) scanner {
	return func(sinks ...func([]float64) error) error { return e.Scan(ctx, s.Design, s.Cells, sinks[0]) }
}

// gather makes a pass over the rows, or over what those of persons became.
func (s *Settled) gather(ctx context.Context, pass ssp.Pass) (ssp.Summand, error) {
	switch e, _ := s.Rows.(Elsewhere); {
	case s.people != nil && e.Persons != nil:
		found, told, err := e.Persons(ctx, s.Design, s.Cells, s.people.how, pass)
		s.people.told = &told
		return found, err
	case s.people == nil && e.Gather != nil:
		return e.Gather(ctx, s.Design, s.Cells, pass)
	}
	return pass.Gather(s.workers(), s.personal(ctx, s.Rows.scan(ctx, s)))
}

// workers share the rows: of files all processors.
func (s *Settled) workers() int {
	if _, here := s.Rows.(Files); here {
		return runtime.GOMAXPROCS(0)
	}
	return 1
}

// sum sums the rows in the box, or what those of persons became.
func (s *Settled) sum(ctx context.Context) (*ssp.Statistics, error) {
	switch e, _ := s.Rows.(Elsewhere); {
	case s.people == nil && e.Sum != nil:
		return e.Sum(ctx, s.Design, s.Cells)
	case s.people != nil && s.people.how.Rule.Kind == persons.Weight && e.Persons == nil:
		return s.sumWeighted(ctx)
	}
	all, err := s.gather(ctx, ssp.Pass{Columns: s.dim()})
	if err != nil {
		return nil, err
	}
	return all.(*ssp.Accumulator).Statistics(), nil
}

func (e Elsewhere) stale(path string) (string, error) {
	return "the rows of " + e.Name + " may be newer than " + path, nil
}

// Files are rows that this process reads.
type Files struct {
	*table.Source
	// Reading, if not nil, is told before the files are read of how many bytes were read, and
	// will have been when they are read no more; finish, when they are read this time.
	Reading func(s *table.Source, done, total int64) (finish func())
}

func (f Files) String() string { return f.Name }

// files gives the rows of an order that cannot do with sums.
func (s *Settled) files(flag string) (Files, error) {
	f, ok := s.Rows.(Files)
	if !ok {
		return f, Misusef("%s needs the rows, and %s leaves them where they are", flag, s.Rows)
	}
	return f, nil
}

// states are those of the files, by which a change is seen.
type states []fs.FileInfo

func (f Files) states() (states, error) {
	infos, err := f.Stat()
	return infos, Misuse(err)
}

func (s states) same(other states) bool {
	return slices.EqualFunc(s, other, func(a, b fs.FileInfo) bool {
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}

// Read lets do read the rows, whose files must stay as they are meanwhile: rows that change
// would make a release of no data set at all, which looks newer than the data. say is told
// of what is odd about them. What is wrong with them is an *Error.
func (f Files) Read(say func(text string), do func() error) error {
	return (&passes{Files: f, say: say, times: 1, marks: f.Marks}).read(do)
}

// passes are the times that files are read for one release. From one to the next they must
// stay as they are, too.
type passes struct {
	Files
	say         func(text string)
	done, times int
	before      states       // nil before the first
	marks       *table.Marks // that the first is for; nil: nobody asks
	cells       table.Options
}

// passesOf are those for the release of s.
func (f Files) passesOf(s *Settled) *passes {
	if s.passes == nil {
		times := 1
		if s.Frame != nil && s.Split == 0 {
			times = 2 * s.Steps
		}
		if s.bounds != nil {
			times++
		}
		s.passes = &passes{Files: f, say: s.Say, times: times, marks: s.marks, cells: s.Cells}
	}
	return s.passes
}

// read lets do read the rows once more.
func (p *passes) read(do func() error) error {
	now, err := p.states()
	if err != nil {
		return err
	}
	first := p.before == nil
	if p.Marks = nil; first {
		p.before, p.Marks = now, p.marks
	}
	if err := p.reading(now, do); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Misuse(p.cells.Offer(err))
	}
	p.done++
	if warning := p.Warning(); warning != nil && first && p.say != nil {
		p.say("warning: " + warning.Error())
	}
	if p.Once() {
		return nil
	}
	// Files may have come and gone, too.
	found, err := table.Find(p.Name)
	if err == nil {
		now, err = found.Stat()
	}
	if err != nil || !p.before.same(now) {
		return changed(p)
	}
	return nil
}

// changed is the error of rows that did not stay what they were.
func changed(rows Source) error {
	return Misusef("%s changed while it was read: nothing was made of it; run this again when it is complete", rows)
}

func (p *passes) reading(s states, do func() error) error {
	var bytes int64
	for _, info := range s {
		bytes += info.Size()
	}
	if p.Reading != nil {
		defer p.Reading(p.Source, bytes*int64(p.done), bytes*int64(p.times))()
	}
	return do()
}

func (f Files) scan(ctx context.Context, s *Settled) scanner {
	return func(sinks ...func([]float64) error) error {
		return f.passesOf(s).read(func() error { return s.Cells.Scan(ctx, f.Source, s.Design, sinks...) })
	}
}

// stale tells whether rows were changed after the file was written. Of standard input that
// cannot be known.
func (f Files) stale(path string) (string, error) {
	made, err := os.Stat(path)
	if err != nil {
		return "", Misuse(err)
	}
	changed, err := f.states()
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(f.Name); err == nil {
		changed = append(changed, info) // a directory, which a file may have left
	}
	after := func(info fs.FileInfo) bool { return info.ModTime().After(made.ModTime()) }
	if f.Once() || slices.ContainsFunc(changed, after) {
		return f.Name + " is newer than " + path, nil
	}
	return "", nil
}

// Scaled are rows in memory: one after another, each of as many values as the design has
// columns, in scaled units, the response last; those of a part have who they are of behind them.
type Scaled struct {
	Name string
	Rows []float64
}

func (r Scaled) String() string { return r.Name }

func (r Scaled) stale(path string) (string, error) {
	return r.Name + " may be newer than " + path, nil
}

// responseFirst are rows of m columns with the last one first.
func responseFirst(rows []float64, m int) (out []float64) {
	for row := range slices.Chunk(rows, m) {
		out = append(append(out, row[m-1]), row[:m-1]...)
	}
	return out
}

func (r Scaled) scan(ctx context.Context, s *Settled) scanner {
	return func(sinks ...func(rows []float64) error) error {
		width := s.width()
		if s.answers != nil {
			width = len(s.asked.Design.Columns())
		}
		if len(r.Rows)%width != 0 {
			return Misusef("%s: %d values are no rows of %d columns", r.Name, len(r.Rows), width)
		}
		for some := range slices.Chunk(r.Rows, checkEvery*width) {
			if ctx.Err() != nil {
				break
			}
			if s.responds {
				some = responseFirst(some, width)
			}
			if s.answers != nil {
				var err error
				if some, err = release.Indicate(s.asked.Design, s.ByLevel, some); err != nil {
					return Misuse(fmt.Errorf("%s: %w", r.Name, err))
				}
			}
			if err := sinks[0](some); err != nil {
				return Misuse(fmt.Errorf("%s: %w", r.Name, err))
			}
		}
		return ctx.Err()
	}
}
