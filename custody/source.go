package custody

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Source is where the rows are: Files, which this process reads, or Elsewhere.
type Source interface {
	// String is what messages call the rows.
	String() string
	// sum sums them once.
	sum(ctx context.Context, s *Settled) (sums, error)
	// stale says how they may be newer than a file; empty if they are not.
	stale(path string) (how string, err error)
}

// sums are what is known of the rows before noise; moments are nil where none are
// asked for.
type sums struct {
	*ssp.Statistics
	moments *ssp.MomentAccumulator
}

// Exact sums the rows of an order without noise, for studies of whoever may see the rows.
// What it returns is as sensitive as they are.
func Exact(ctx context.Context, o Order) (*ssp.Statistics, error) {
	all, err := o.Rows.sum(ctx, &Settled{Order: o})
	return all.Statistics, err
}

// Elsewhere are rows that this process does not read: a database or a cluster sums them,
// or they were summed before.
type Elsewhere struct {
	Name string
	// Sum sums the columns of d in scaled units, exactly. Its errors are Publish's.
	Sum func(ctx context.Context, d *schema.Design, cells table.Options) (*ssp.Statistics, error)
}

// Summed are rows of which the sums are there.
func Summed(s *ssp.Statistics) Elsewhere {
	return Elsewhere{"rows that were summed", func(context.Context, *schema.Design, table.Options) (*ssp.Statistics, error) { return s, nil }}
}

func (e Elsewhere) String() string { return e.Name }

func (e Elsewhere) sum(ctx context.Context, s *Settled) (sums, error) {
	found, err := e.Sum(ctx, s.Design, s.Cells)
	return sums{found, nil}, err
}

func (e Elsewhere) stale(path string) (string, error) {
	return "the rows of " + e.Name + " may be newer than " + path, nil
}

// Files are rows that this process reads.
type Files struct {
	*table.Source
	// Reading, if not nil, is told of how many bytes are to be read; finish, when they are.
	Reading func(s *table.Source, bytes int64) (finish func())
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
	_, err := f.scan(say, nil, do)
	return err
}

// scan is Read; where the files were read before, they must be as they were.
func (f Files) scan(say func(text string), before states, do func() error) (states, error) {
	now, err := f.states()
	if err != nil {
		return nil, err
	}
	first := before == nil
	if first {
		before = now
	}
	if err := f.reading(now, do); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, Misuse(table.Offer(err))
	}
	if warning := f.Warning(); warning != nil && first && say != nil {
		say("warning: " + warning.Error())
	}
	if f.Once() {
		return before, nil
	}
	// Files may have come and gone, too.
	found, err := table.Find(f.Name)
	if err == nil {
		now, err = found.Stat()
	}
	if err != nil || !before.same(now) {
		return nil, Misusef("%s changed while it was read: nothing was made of it; run this again when it is complete", f.Name)
	}
	return before, nil
}

func (f Files) reading(s states, do func() error) error {
	var bytes int64
	for _, info := range s {
		bytes += info.Size()
	}
	if f.Reading != nil {
		defer f.Reading(f.Source, bytes)()
	}
	return do()
}

func (f Files) sum(ctx context.Context, s *Settled) (all sums, err error) {
	err = f.Read(s.Say, func() error {
		all, err = f.accumulate(ctx, s)
		return err
	})
	return all, err
}

// accumulate reads the rows on all processors.
func (f Files) accumulate(ctx context.Context, s *Settled) (all sums, err error) {
	low, high, err := ssp.Accumulate(ctx, f.Source, s.Cells, s.Design, s.WithMoments, runtime.GOMAXPROCS(0))
	if err != nil {
		return all, err
	}
	return sums{low.Statistics(), high}, nil
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
