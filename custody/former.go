package custody

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// What stands where a release is to go: a former one, or what a killed run left.

// Former reads the release that stands where the new one is to go; nil where
// there is nothing. What is no release is not to be overwritten, whatever is
// asked.
func (s *Settled) Former() (*release.Release, error) {
	if _, err := files.Resolve(s.Path); err != nil {
		return nil, Misusef("cannot write to %s: %w", s.Path, err)
	}
	if _, err := os.Stat(s.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r, err := release.ReadFile(s.Path)
	if err != nil {
		return nil, Misusef("%w\nThe release would go to this file, and is not to overwrite what is no release: name another one", err)
	}
	return r, nil
}

// Differs says why r is not the release that is ordered, nil if it is.
func (s *Settled) Differs(r *release.Release) error {
	if err := cmp.Or(s.boundsDiffer(r), s.personsDiffer(r), s.levelsDiffer(r), s.answered(r)); err != nil {
		return err
	}
	if has := r.Moments != nil; has != s.WithMoments {
		return fmt.Errorf("%s moments of the covariates (--with-moments)", map[bool]string{true: "it has", false: "it has no"}[has])
	}
	if has := r.Part.Parts(); has != int64(s.Split) {
		return fmt.Errorf("it is one of %d parts (--split), not of %d", max(1, has), max(1, s.Split))
	}
	if r.WithoutYY() {
		return fmt.Errorf("it withholds the sum of squares of %q", r.Schema.Response.Name)
	}
	// Older releases may have the paper's sensitivity, a factor of four apart; rounding is not the question.
	if s.Steps == 1 && !s.auto && math.Abs(r.Noise.Scale/s.Noise.Scale-1) > 1e-6 {
		return errors.New("its noise is calibrated to another sensitivity")
	}
	return nil
}

// Selects gives the formula by which r, a release of another model, answers the one that is
// ordered; empty where it does not.
func (s *Settled) Selects(r *release.Release) (formula string) {
	if s.ByLevel != "" && r.Levels == nil || s.answered(r) == nil && s.levelsDiffer(r) == nil {
		return ""
	}
	formula = s.Model().Formula().String()
	model, err := r.Select(formula)
	if err != nil || s.levelsDiffer(model) != nil || s.answered(model) != nil || s.personsDiffer(model) != nil || s.boundsDiffer(model) != nil || model.WithoutYY() || s.WithMoments && model.Moments == nil {
		return ""
	}
	return formula
}

// answered says why r does not answer the order; its bounds are taken for those that would
// be found, if it is one that found bounds.
func (s *Settled) answered(r *release.Release) error {
	design := s.Design
	if s.PerLevel {
		design = s.crossed
	}
	if s.bounds != nil && r.Bounds != nil {
		var found schema.Bounds
		for _, c := range r.Schema.Columns() {
			if slices.Contains(s.bounds.Columns, c.Name) {
				found = append(found, c)
			}
		}
		if d, err := design.WithBounds(found); err == nil {
			design = d
		}
	}
	privacy, looks, kind := s.Privacy, s.Steps, s.Mechanism
	if s.auto { // it has what the number of rows had for it
		looks = len(r.Looks())
	}
	if pure := pureOf(looks); s.waits() {
		kind, privacy.Delta = release.Gaussian, s.asked.Privacy.Delta
		if privacy.Delta == 0 || s.asked.Mechanism != release.Gaussian && r.Noise.Kind == pure {
			kind, privacy.Delta = pure, 0
		}
	}
	return r.FactorFirst().Answers(design, privacy, kind, looks)
}

// boundsDiffer says why the bounds of r did not come about as those ordered would,
// nil if they did.
func (s *Settled) boundsDiffer(r *release.Release) error {
	switch {
	case s.bounds == nil && r.Bounds == nil:
		return nil
	case s.bounds == nil:
		return fmt.Errorf("its bounds of %s were found in the rows (--bounds auto)", schema.Listed(r.Bounds.Columns))
	case r.Bounds == nil:
		return errors.New("its bounds are public, and were not found in the rows (--bounds auto)")
	case r.Bounds.Epsilon != s.bounds.Epsilon && r.Privacy.Epsilon == s.Privacy.Epsilon:
		return fmt.Errorf("its bounds were found with epsilon %v, not %v", r.Bounds.Epsilon, s.bounds.Epsilon)
	}
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	if !slices.Equal(sorted(r.Bounds.Columns), sorted(s.bounds.Columns)) {
		return fmt.Errorf("it found bounds of %s, not of %s", schema.Listed(r.Bounds.Columns), schema.Listed(s.bounds.Columns))
	}
	return nil
}

// Stale says how the rows may have changed after the release at Path was made; empty if
// they did not.
func (s *Settled) Stale() (how string, err error) { return s.Rows.stale(s.Path) }

// leftovers refuses where a run was killed between the noise and the renaming:
// what it left would be a second release of these rows, that nobody counts. It
// may serve as the release where none stands.
func (s *Settled) leftovers(former *release.Release) error {
	left, err := files.Leftovers(s.Path)
	if err != nil || left == nil {
		return Misuse(err)
	}
	remedy := fmt.Sprintf("If nobody else can have read it, remove it and run this again:  rm %s%s", map[bool]string{true: "-r "}[s.Split > 0], files.Quoted(left[0]))
	if _, err := release.ReadFile(left[0]); err == nil && former == nil {
		remedy = fmt.Sprintf("It is complete. To use it, at no further cost:  mv %s %s\n  ", files.Quoted(left[0]), files.Quoted(s.Path)) + remedy
	}
	return Refusef("%s was left by a run that was killed while it wrote, or another run writes it now: a release of which nobody knows may have been read, and a new one would spend ε again.\n  %s",
		left[0], remedy)
}

// sayAgain says what overwriting a release means.
func (s *Settled) sayAgain(former *release.Release) {
	if former.Privacy == nil {
		s.sayf("--spend-again: %s will be overwritten; whatever it spent stays spent", s.Path)
		return
	}
	sum := fmt.Sprintf("ε adds up to %.12g", former.Privacy.Epsilon+s.Privacy.Epsilon)
	if delta := former.Privacy.Delta + s.Privacy.Delta; delta > 0 {
		sum += fmt.Sprintf(" and δ to %.12g", delta)
	}
	s.sayf("--spend-again: %s will be overwritten, but the %s that it spent stays spent; if both are of the same persons, %s",
		s.Path, Describe(*former.Privacy), sum)
}
