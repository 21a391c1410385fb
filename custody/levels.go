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
	if s.ByLevel == "" && s.PerLevel {
		return Misusef("--per-level says that products are by the levels of --by-level: name their column")
	}
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
	if s.answers, _, err = release.OfCells(s.Design, s.ByLevel, s.asked.Design.Formula().String()); err != nil {
		return Misusef("--by-level %s: %w", s.ByLevel, err)
	}
	if s.responds = s.Design.Response.Name != s.asked.Design.Response.Name; s.responds && !s.public() {
		return Misusef("--by-level %s, the response, goes with --neighbours %s: a family has no law of levels whose rows are not public in all", s.ByLevel, release.ReplaceOne)
	}
	return s.settlePerLevel()
}

// settlePerLevel gives the release the products of the factor's dummies with the other covariates, which follow where
// products are per level.
func (s *Settled) settlePerLevel() (err error) {
	if !s.PerLevel {
		return nil
	}
	_, away := s.Rows.(Elsewhere)
	switch {
	case s.dummies > 0 && s.Design.Covariates[0].Term != nil:
		return Misusef("--per-level is of one factor, and %s are several: leave it out, or name one", s.ByLevel)
	case s.responds:
		return Misusef("--per-level: %q is the response, and products are by the levels of a covariate", s.ByLevel)
	case s.Split > 0:
		return Misusef("--per-level and --split exclude each other: of several releases there is no law of products per level; leave it out")
	case s.Steps > 1:
		return Misusef("--per-level goes with one look, --steps 1")
	case away:
		return Misusef("--per-level reads rows from files: %s has them summed elsewhere; leave it out, or put the rows into a file", s.Rows)
	}
	s.Steps = 1
	if _, _, err = release.WithinLevels(s.Design, s.ByLevel, s.dummies); err == nil {
		s.Design = s.Design.Uncrossed(s.ByLevel)
		s.crossed, err = s.Design.Crossed(s.ByLevel)
	}
	if err != nil {
		return Misusef("--per-level: %w", err)
	}
	return nil
}

// Model is the design of the release: Design, or where sums are by the levels of the response that of rows with
// the response last, and where products are per level one with more columns.
func (s *Settled) Model() *schema.Design {
	switch {
	case s.responds:
		return s.asked.Design
	case s.PerLevel:
		return s.crossed
	}
	return s.Design
}

// ByCells is the order by the levels of all covariates, of one look where the response is 0 or 1; nil where they are not
// categories alone, where others are asked for, where it is refused, or where a former release is not so, which may tell
// what is asked.
func (o Order) ByCells() *Order {
	say, asked := o.Say, o.ByLevel != ""
	o.ByLevel, o.Say = o.Design.Categorical(), nil
	if o.ByLevel == "" || asked {
		return nil
	}
	if o.Design.Response.Binary() {
		o.Steps = 1
	}
	settled, err := Settle(o)
	if err != nil {
		return nil
	}
	if formers, _ := settled.Formers(); len(formers) > 0 && !o.SpendAgain && settled.Differs(formers[0]) != nil {
		return nil
	}
	o.Say = say
	return &o
}

// Inferred is the design of the model that is asked for: Model, but where sums are by the levels of several factors.
func (s *Settled) Inferred() *schema.Design {
	if s.answers != nil {
		return s.answers
	}
	return s.Model()
}

// Answer is what a release, made as ordered, tells of Inferred.
func (s *Settled) Answer(r *release.Release) (*release.Release, error) {
	if s.answers == nil {
		return r, nil
	}
	return r.Select(s.asked.Design.Formula().String())
}

// levelsDiffer says why r has not its sums by the levels that are ordered, nil if it has.
func (s *Settled) levelsDiffer(r *release.Release) error {
	has := ""
	if r.Levels != nil {
		has = r.Levels.Factor
	}
	switch {
	case has == s.ByLevel && r.Levels.PerLevel() != s.PerLevel:
		return fmt.Errorf("it has %s products per level (--per-level)", map[bool]string{true: "no"}[s.PerLevel])
	case has == s.ByLevel && r.LevelsAreOfResponse() == s.responds:
		return nil
	case has == s.ByLevel:
		return fmt.Errorf("its response is %q", r.Schema.Response.Name)
	case has == "":
		return errors.New("its sums are not by levels (--by-level)")
	}
	return fmt.Errorf("its sums are by the levels of %q (--by-level)", has)
}
