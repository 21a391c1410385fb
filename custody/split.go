package custody

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/table"
)

// Releases of parts: rows, or persons with all of theirs, are dealt by coins, and of each part there is a release
// with the whole of the privacy. The unit that differs between neighbours is in one part: docs/threat-model.md has
// the proof. The rows are read once and kept in memory, since each part looks at its own several times.

func (s *Settled) settleSplit() error {
	e, away := s.Rows.(Elsewhere)
	switch flag := fmt.Sprintf("--split %d", s.Split); {
	case s.Split == 0:
		return nil
	case s.Split < 2 || s.Split > release.MaxParts:
		return Misusef("%s: from 2 to %d parts", flag, release.MaxParts)
	case s.WithMoments:
		return Misusef("%s and --with-moments exclude each other: moments are of one release, for methods that take one", flag)
	case len(s.Bounds.Columns) > 0:
		return Misusef("%s goes with public bounds, and not with --bounds auto, which would find others in each part", flag)
	case s.responds:
		return Misusef("%s --by-level %s: parts are not summed by the levels of their response; --steps 1 leaves the response as it is without", flag, s.ByLevel)
	case s.SpendAgain:
		return Misusef("%s: parts are not overwritten, and --spend-again has nothing to do: name another folder", flag)
	case away && e.Scan == nil:
		return Misusef("%s needs the rows, and %s leaves them where they are: dpreg release reads files, PostgreSQL and DuckDB", flag, s.Rows)
	}
	return nil
}

// each is how many of so many rows a part has, about.
func (s *Settled) each(rows int64) int64 { return rows / int64(max(1, s.Split)) }

// PublishParts is Publish of all parts, where there are any: it makes all of them or, as far as anybody sees, none.
func (s *Settled) PublishParts(ctx context.Context) (parts []*release.Release, err error) {
	if s.Split == 0 {
		r, err := s.Publish(ctx)
		return []*release.Release{r}, err
	}
	if err := s.freeFolder(); err != nil {
		return nil, err
	}
	err = spend(ctx, s, s.readParts, func(made []*release.Release, public bool, paid *Payment) error {
		if err := s.writeParts(made, paid); err != nil {
			return err
		}
		if s.Path != "" {
			s.sayf("%d releases written to %s: together they spent %s%s, as a row is in one part", s.Split, s.Path, Describe(s.Privacy), map[bool]string{true: ", for each person"}[s.people != nil])
		}
		parts = made
		return nil
	})
	return parts, err
}

// readParts reads the rows, deals them, and returns how many there are and what makes the releases. Whatever part a
// row is in, all that may be refused for what its cells hold is refused here.
func (s *Settled) readParts(ctx context.Context) (n int64, noised func() ([]*release.Release, error), err error) {
	dealt, err := s.deal(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, own := range dealt {
		rows, _, err := s.part(own).read(ctx)
		if err != nil {
			return 0, nil, err
		}
		n += rows
	}
	return n, func() (parts []*release.Release, err error) {
		coins := mechanisms.NewStream(s.entropy())
		dealing := fmt.Sprintf("%016x%016x", coins.Uint64(), coins.Uint64())
		for j, own := range dealt {
			_, noised, err := s.part(own).read(ctx) // with what the number of rows has settled since
			if err != nil {
				return nil, err
			}
			r, err := noised()
			if err != nil {
				return nil, err
			}
			r.Part = &release.Part{Number: int64(j + 1), Of: int64(s.Split), Dealing: dealing}
			parts = append(parts, r)
		}
		return parts, nil
	}, nil
}

// part is the order of the release of rows that were dealt to a part.
func (s *Settled) part(dealt []float64) *Settled {
	one := *s
	one.Split, one.Say, one.passes, one.marks = 0, nil, nil, nil
	one.answers = nil // rows that were dealt have the columns of the release
	if s.people != nil {
		one.people = &people{how: s.people.how, m: s.people.m, over: s.people.over}
	}
	one.Rows = Scaled{Name: s.Rows.String(), Rows: dealt}
	return &one
}

// width is that of a row, with what says whose it is.
func (s *Settled) width() int {
	if s.people == nil {
		return s.dim()
	}
	return s.dim() + table.PersonValues
}

// deal reads the rows, and deals them: with persons, all of one to the same part.
func (s *Settled) deal(ctx context.Context) ([][]float64, error) {
	var rows []float64
	err := s.Rows.scan(ctx, s)(func(some []float64) error {
		rows = append(rows, some...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	width, known, units := s.width(), map[[table.PersonValues]float64]int{}, []int(nil)
	for row := range slices.Chunk(rows, width) {
		unit := len(units)
		if s.people != nil {
			person := [table.PersonValues]float64(row[s.dim():])
			if _, met := known[person]; !met {
				known[person] = len(known)
			}
			unit = known[person]
		}
		units = append(units, unit)
	}
	count := len(units)
	if s.people != nil {
		count = len(known)
	}
	parts, dealt := s.coins(count), make([][]float64, s.Split)
	for i, unit := range units {
		dealt[parts[unit]] = append(dealt[parts[unit]], rows[i*width:(i+1)*width]...)
	}
	return dealt, nil
}

// coins deals so many units to parts, whatever they hold and in whatever order they come, by coins that nobody
// keeps. Where their number is public, all ways that give parts of even sizes are as likely (Fisher & Yates, from the
// first unit on); else each unit has a coin of its own.
func (s *Settled) coins(units int) []int {
	coins, parts := mechanisms.NewStream(s.entropy()), make([]int, units)
	for i := range parts {
		if !s.public() {
			parts[i] = int(coins.Below(uint64(s.Split)))
			continue
		}
		k := coins.Below(uint64(i + 1))
		parts[i] = i % s.Split
		parts[i], parts[k] = parts[k], parts[i]
	}
	return parts
}

// PathOf is the file of the release of part j, from 1, or of all.
func (s *Settled) PathOf(j int) string {
	if s.Split == 0 {
		return s.Path
	}
	return filepath.Join(s.Path, s.nameOf(j))
}

func (s *Settled) nameOf(j int) string { return fmt.Sprintf("%0*d.json", len(fmt.Sprint(s.Split)), j) }

// freeFolder refuses, before anything is read, a folder that cannot be made.
func (s *Settled) freeFolder() error {
	if s.Path == "" {
		return nil
	}
	if _, err := os.Lstat(s.Path); !errors.Is(err, fs.ErrNotExist) {
		return Refusef("%s exists already. Other parts would spend ε again.\n"+
			"  At no further cost:  dpreg infer %s/*.json, if it has releases\n"+
			"  To spend ε again:    name another folder", s.Path, files.Quoted(s.Path))
	}
	if err := files.CheckWritable(s.Path); err != nil {
		return Misuse(err)
	}
	return s.leftovers(nil)
}

// writeParts writes all parts, and their signatures, to a folder that is there when all are.
func (s *Settled) writeParts(parts []*release.Release, paid *Payment) error {
	if s.Path == "" {
		return nil
	}
	return s.raced(files.PlaceDir(s.Path, func(dir string) error {
		for j, r := range parts {
			one := *s
			one.Path, one.Say = filepath.Join(dir, s.nameOf(j+1)), nil
			if err := errors.Join(one.write(r, nil), one.sign(paid)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Formers is Former of all parts, or of the one release.
func (s *Settled) Formers() (all []*release.Release, err error) {
	if s.Split == 0 {
		r, err := s.Former()
		if r != nil {
			all = append(all, r)
		}
		return all, err
	}
	if _, err := os.Stat(s.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for j := range s.Split {
		r, err := release.ReadFile(s.PathOf(j + 1))
		if err != nil {
			return nil, Misusef("%w\nThe parts would go to the folder %s, which has not those of --split %d: name another one", err, s.Path, s.Split)
		}
		all = append(all, r)
	}
	if int64(s.Split) != all[0].Part.Parts() || !release.OneDealing(all...) {
		return nil, Misusef("%s has not the %d parts of one dealing: name another folder", s.Path, s.Split)
	}
	return all, nil
}
