package custody

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// What custodians add up in a session: which part of their privacy it has, and in which frame. Of several
// looks each has a session, and a share of μ² that was fixed before the first (adaptive.Plan). Where persons
// have up to K rows, a twentieth of μ² is for the count of those with more, in the first look.

// look is which of the looks the session is, from 0.
func (s *Session) look() int {
	if s.Former == nil {
		return 0
	}
	return len(s.Former.Looks())
}

// follow takes from the former look what holds for all.
func (s *Session) follow() error {
	r := s.Former
	if r == nil {
		switch {
		case s.Persons == string(persons.Weight) && s.Steps <= 0:
			s.Steps = 1
		case s.Steps <= 0: // AutoSteps
			s.Steps, _ = adaptive.Auto(len(s.Schema.Columns()), float64(s.Rows), s.Privacy)
		}
		return nil
	}
	if r.Pooled == nil || r.Frame == nil || int64(len(r.Looks())) >= r.Pooled.Rounds {
		return errors.New("the release that is to be followed is not one of several custodians that has a look left: their first session says how many, by --steps")
	}
	s.Privacy, s.Schema, s.Steps, s.Rows = *r.Privacy, r.Schema, int(r.Pooled.Rounds), r.Pooled.Rows
	if p := r.Persons; p != nil {
		s.Persons = persons.Rule{Kind: persons.Kind(p.Rows), Most: int(p.Most)}.String()
	}
	return nil
}

// rule is what becomes of persons' rows; empty where there are none.
func (s *Session) rule() (persons.Rule, error) {
	if s.Persons == "" {
		return persons.Rule{}, nil
	}
	return persons.ParseRule(s.Persons)
}

// shares are the parts of μ² that rows have in this look, for their sums and for their radii, and the count
// of persons.
func (s *Session) shares() (sums, radii, count float64) {
	rows := 1.
	if rule, err := s.rule(); err == nil && rule.Kind == persons.Rows {
		rows = 1 - 1./moreShare
		if s.look() == 0 {
			count = 1. / moreShare
		}
	}
	if s.Steps <= 1 {
		return rows, 0, count
	}
	p := adaptive.NewPlan(len(s.Schema.Columns()), float64(s.Rows), s.Privacy, s.Steps)
	return rows * p.Looks[s.look()], rows * p.Radii[s.look()], count
}

// shared is what each custodian adds, with the smallest noise that serves.
func (s *Session) shared() (q ssp.Shared, err error) {
	m, n := len(s.Schema.Columns()), len(s.Custodians)
	q = ssp.Shared{Columns: m, Neighbours: s.Privacy.Neighbours, Frame: s.Frame}
	rule, err := s.rule()
	switch {
	case err != nil:
		return q, err
	case s.Privacy.Epsilon > ssp.MaxShareEpsilon:
		return q, fmt.Errorf("epsilon %v: at most %v is shared", s.Privacy.Epsilon, ssp.MaxShareEpsilon)
	case rule.Most > 1 && s.Privacy.Neighbours == release.ReplaceOne:
		return q, fmt.Errorf("persons of up to %d rows go with %s neighbours: of how many rows persons are would be public", rule.Most, release.AddRemove)
	case rule.Kind == persons.Weight && s.Steps > 1:
		return q, errors.New("rows that count one over their number are for one look")
	}
	sums, radii, count := s.shares()
	whole, err := ssp.NewBudget(s.Privacy)
	if err != nil {
		return q, err
	}
	if count > 0 {
		q.More = whole.Sigma() / math.Sqrt(count) * up
	}
	k := float64(rule.PerPerson())
	if s.Frame == nil {
		var p release.Privacy
		if p, err = weaker(s.Privacy, k/math.Sqrt(sums)); err == nil {
			q.Noise, err = ssp.Calibrate(m, p, release.Gaussian, ssp.Exact)
		}
	} else if q.Noise, err = whole.Noise(m, s.Frame, sums/(k*k)); err == nil {
		q.Radii, err = whole.RadiiScale(radii / (k * k))
	}
	if err != nil {
		return q, err
	}
	return q.Split(n, n-s.Colluding-s.Absent)
}

// up and down are beyond what rounding does to a few numbers.
const (
	up   = 1 + 1e-14
	down = 1 - 1e-14
)

// weaker is the privacy of Gaussian noise that is so many times that of p, rounded down.
func weaker(p release.Privacy, times float64) (release.Privacy, error) {
	if times == 1 {
		return p, nil
	}
	sigma, err := accounting.Sigma(p.Epsilon, p.Delta, 1)
	if err != nil {
		return p, err
	}
	p.Epsilon /= times
	p.Delta, err = accounting.Delta(p.Epsilon, times*sigma, 1)
	p.Delta *= 1 - 1e-9
	return p, err
}

// frame is where the look is taken: the box in the first, and later where the former found rows.
func (s *Session) frame() (*release.Frame, error) {
	m := len(s.Schema.Columns())
	if s.Steps <= 1 {
		return nil, nil
	}
	if s.Former == nil {
		return ssp.RoundFrame(adaptive.First(m)), nil
	}
	looks := s.Former.Looks()
	whole, err := ssp.NewBudget(s.Privacy)
	if err != nil {
		return nil, err
	}
	plan := adaptive.NewPlan(m, float64(s.Rows), s.Privacy, s.Steps)
	f := plan.After(len(looks), &looks[len(looks)-1], float64(s.Former.N), m, func(f *release.Frame) release.Noise {
		noise, failed := whole.Noise(m, f, plan.Looks[len(looks)])
		err = errors.Join(err, failed)
		return noise
	})
	if f.Lost = 0; err != nil {
		return nil, err
	}
	return ssp.RoundFrame(f), nil
}

// checkLook refuses a session that is not the one after its former look: any custodian finds the same frame,
// but for digits that processors round otherwise.
func (s *Session) checkLook() error {
	of := Session{Former: s.Former, Schema: s.Schema, Privacy: s.Privacy, Steps: s.Steps, Rows: s.Rows, Persons: s.Persons}
	if s.Former != nil {
		if err := errors.Join(s.Former.Validate(), of.follow()); err != nil {
			return fmt.Errorf("former: %w", err)
		}
	}
	switch {
	case s.Steps < 0 || s.Steps > MaxSteps || s.Rows < 0:
		return fmt.Errorf("steps: from 1 to %d, of at least no rows", MaxSteps)
	case s.Steps > 1 && len(s.Schema.Covariates) == 0:
		return errors.New("steps: without a covariate one look is enough")
	case of.Privacy != s.Privacy || of.Steps != s.Steps || of.Rows != s.Rows || of.Persons != s.Persons || of.Schema.Formula().String() != s.Schema.Formula().String():
		return errors.New("it is not what was agreed upon for the former look")
	}
	want, err := s.frame()
	if err != nil {
		return err
	}
	if (want == nil) != (s.Frame == nil) || want != nil && !alike(want, s.Frame) {
		return errors.New("frame: it is not the one that follows from the former look")
	}
	return nil
}

// alike tells whether two frames are the same but for rounding.
func alike(a, b *release.Frame) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-5*max(1, math.Abs(x)) }
	return slices.EqualFunc(a.Centre, b.Centre, near) && near(a.Radius, b.Radius) && near(a.Weight, b.Weight) &&
		slices.EqualFunc(a.Matrix, b.Matrix, func(x, y []float64) bool { return slices.EqualFunc(x, y, near) })
}

// charge makes of what a release of one custodian costs what a look of the session does: its share of μ².
func (s *Session) charge(c *ledger.Charge) error {
	sums, radii, count := s.shares()
	if s.Steps <= 1 && count == 0 {
		return nil
	}
	whole, err := ssp.NewBudget(s.Privacy)
	if err != nil {
		return err
	}
	c.Sensitivity, c.Scale = 1, whole.Sigma()/math.Sqrt(sums+radii+count)*down
	if s.Steps <= 1 {
		return nil
	}
	epsilon, err := accounting.Epsilon(c.Scale, number.RoundDown(c.Delta), 1)
	if err != nil {
		return err
	}
	c.Epsilon = new(big.Rat).Set(number.Decimal(min(epsilon, s.Privacy.Epsilon)))
	return nil
}
