package custody

import (
	"errors"
	"fmt"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// settleLevels takes the columns of the factor first where sums are to be by levels; it refuses what such a
// release cannot have. Of several looks the last is by levels, and those before it have none of the factor.
func (s *Settled) settleLevels() (err error) {
	if s.ByLevel == "" {
		return nil
	}
	switch flag := "--by-level " + s.ByLevel; {
	case s.WithMoments:
		return Misusef("%s and --with-moments exclude each other", flag)
	case s.Bounds.Columns != nil:
		return Misusef("%s goes with public bounds, and not with --bounds auto", flag)
	case s.people != nil || s.Persons != Persons{}:
		return Misusef("%s takes each row for a person's, and not --person", flag)
	case s.Cells.Missing == table.Midpoint:
		return Misusef("%s needs a level in each row: --missing midpoint gives a row half of each", flag)
	}
	if s.Design, s.dummies, err = release.LevelsFirst(s.Design, s.ByLevel); err != nil {
		return Misusef("--by-level: %w", err)
	}
	if s.responds = s.Design.Response.Name != s.asked.Design.Response.Name; s.responds && !s.public() {
		return Misusef("--by-level %s, the response, goes with --neighbours %s: a family has no law of levels whose rows are not public in all", s.ByLevel, release.ReplaceOne)
	}
	return nil
}

// Model is the design of the release: Design, or where sums are by the levels of the response that of rows with
// the response last.
func (s *Settled) Model() *schema.Design {
	if s.responds {
		return s.asked.Design
	}
	return s.Design
}

// levelsDiffer says why r has not its sums by the levels that are ordered, nil if it has.
func (s *Settled) levelsDiffer(r *release.Release) error {
	has := ""
	if r.Levels != nil {
		has = r.Levels.Factor
	}
	switch {
	case has == s.ByLevel && r.LevelsAreOfResponse() == s.responds:
		return nil
	case has == s.ByLevel:
		return fmt.Errorf("its response is %q", r.Schema.Response.Name)
	case has == "":
		return errors.New("its sums are not by levels (--by-level)")
	}
	return fmt.Errorf("its sums are by the levels of %q (--by-level)", has)
}
