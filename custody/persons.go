package custody

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// Releases that are private for persons, of whom each has any number of rows: docs/persons.md.

// Persons says whose the rows are.
type Persons struct {
	Column string // that names the person; empty: each row is one of its own
	Rule   persons.Rule
}

// moreShare is one over the share of ε that tells about how many persons had rows left out.
const moreShare = 20

// settlePersons refuses what cannot be had of persons.
func (s *Settled) settlePersons() error {
	p := s.Persons
	if p.Column == "" {
		if p.Rule != (persons.Rule{}) {
			return Misusef("--person-rows is for --person COLUMN, which says whose a row is")
		}
		return nil
	}
	switch e, away := s.Rows.(Elsewhere); {
	case p.Rule.Kind == "":
		return Misusef("--person-rows is missing, which says what becomes of a person's rows, a choice that is public:\n" +
			"  mean     their mean is the one row: the line is that of persons' means\n" +
			"  weight   each counts one over their number: a line through rows, by one look\n" +
			"  K        at most K of them count, chosen by a keyed hash: 1, or more with --neighbours add-remove")
	case schema.FactorNamed(s.Design.Factors, p.Column) != nil, schema.Index(slices.Concat(s.Design.Columns(), s.Design.Sources), p.Column) >= 0:
		return Misusef("--person %s: it is a column of the model, and who a person is is not to be released", p.Column)
	case s.WithMoments:
		return Misusef("--with-moments is of rows, not of persons")
	case len(s.Bounds.Columns) > 0:
		return Misusef("--bounds auto looks at rows, not at persons: give public bounds")
	case p.Rule.Most > 1 && s.public():
		return Refusef("--person-rows %d with %s neighbours: of how many rows persons are would be public. Use --neighbours %s, or --person-rows 1", p.Rule.Most, release.ReplaceOne, release.AddRemove)
	case p.Rule.Kind == persons.Weight && s.Steps > 1:
		return Misusef("--person-rows weight is for --steps 1: rows that are clipped have no weights")
	case away && e.Scan == nil && e.Persons == nil:
		return Misusef("--person needs the rows, and %s leaves them where they are: dpreg release reads files, PostgreSQL and DuckDB", s.Rows)
	}
	if _, scaled := s.Rows.(Scaled); scaled {
		return Misuse(errors.New("rows in memory do not say whose they are"))
	}
	if p.Rule.Kind == persons.Weight {
		s.Steps = 1
	}
	s.Cells.Person = p.Column
	return nil
}

// relation is what a ledger counts.
func (s *Settled) relation() string {
	if s.Persons.Column == "" {
		return string(s.Privacy.Neighbours)
	}
	return string(s.Privacy.Neighbours) + ledger.OfPersons
}

// moreEpsilon is the part of ε of the count of persons with rows left out; 0 where none are.
func (s *Settled) moreEpsilon() float64 {
	if s.Persons.Rule.Kind != persons.Rows {
		return 0
	}
	epsilon, _ := new(big.Rat).Quo(number.Decimal(s.Privacy.Epsilon), big.NewRat(moreShare, 1)).Float64()
	return epsilon
}

// ofRows is the privacy that a release of rows needs for that of persons, p, who have up to k of
// them: noise at k times the sensitivity. It has ε/k and, with δ, that of Gaussian noise k
// times as large, rounded down.
func ofRows(p release.Privacy, k int) (release.Privacy, error) {
	if k == 1 {
		return p, nil
	}
	if p.Delta > 0 {
		return weaker(p, float64(k))
	}
	whole := p
	p.Epsilon /= float64(k)
	for new(big.Rat).Mul(number.Decimal(p.Epsilon), big.NewRat(int64(k), 1)).Cmp(number.Decimal(whole.Epsilon)) > 0 {
		p.Epsilon = math.Nextafter(p.Epsilon, 0)
	}
	return p, nil
}

// people are the persons of one release.
type people struct {
	how  persons.Grouping
	m    int
	told *persons.Told

	mutex sync.Mutex
	rows  []int32 // on the lattice, once they are grouped; nil where they are not kept
	over  bool    // they are too many, or there is one pass
}

// mostKept is how many values of rows are kept for other passes, which else group them anew.
const mostKept = 64 << 20

// meet is done for each release: a key of what stands for persons, and of what chooses rows.
func (s *Settled) meet(paid *Payment) {
	s.people = nil
	if s.Persons.Column == "" {
		return
	}
	var key ledger.Key // of studies
	switch {
	case paid != nil:
		key = paid.key
	case s.Entropy == nil:
		key = ledger.NewKey()
	}
	s.Cells.PersonKey = sha256.Sum256(append([]byte("dpreg person "), key[:]...))
	s.people = &people{how: persons.Grouping{Rule: s.Persons.Rule, Key: sha256.Sum256(append([]byte("dpreg choice "), key[:]...))}, m: s.dim(), over: s.Frame == nil}
}

// scanner shares rows among sinks.
type scanner func(sinks ...func(rows []float64) error) error

// personal makes of rows what the rule makes of persons' rows; it leaves them as they are where each is
// its own person.
func (s *Settled) personal(ctx context.Context, scan scanner) scanner {
	p := s.people
	if p == nil {
		return scan
	}
	return func(sinks ...func(rows []float64) error) error {
		if p.told != nil && !p.over {
			return p.again(sinks)
		}
		g, err := p.group(len(sinks), scan)
		if err != nil {
			return err
		}
		defer g.Close()
		keeping := slices.Clone(sinks)
		for i, sink := range sinks {
			keeping[i] = func(rows []float64) error {
				p.keep(rows)
				return sink(rows)
			}
		}
		told, err := g.Each(ctx, keeping...)
		p.told = &told
		return err
	}
}

func (p *people) group(workers int, scan scanner) (*persons.Group, error) {
	g := persons.NewGroup(p.how, p.m, workers)
	if err := scan(g.Adds()...); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// keep keeps rows for other passes, if they are not too many.
func (p *people) keep(rows []float64) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.over = p.over || len(p.rows)+len(rows) > mostKept; p.over {
		p.rows = nil
		return
	}
	for _, v := range rows {
		p.rows = append(p.rows, int32(v*(1<<ssp.LatticeBits)))
	}
}

// again hands on rows that were kept.
func (p *people) again(sinks []func(rows []float64) error) error {
	some := make([]float64, 0, 256*p.m)
	for values := range slices.Chunk(p.rows, 256*p.m) {
		some = some[:0]
		for _, k := range values {
			some = append(some, float64(k)/(1<<ssp.LatticeBits))
		}
		if err := sinks[0](some); err != nil {
			return err
		}
	}
	return nil
}

// sumWeighted sums what persons' rows add by their weights.
func (s *Settled) sumWeighted(ctx context.Context) (*ssp.Statistics, error) {
	g, err := s.people.group(s.workers(), s.Rows.scan(ctx, s))
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var all []*ssp.Accumulator
	var adds []func(sums []int64) error
	for range s.workers() {
		all = append(all, ssp.NewAccumulator(s.dim()))
		adds = append(adds, all[len(all)-1].AddPerson)
	}
	told, err := g.Sums(ctx, adds...)
	for _, other := range all[1:] {
		if err == nil {
			err = all[0].Merge(other)
		}
	}
	s.people.told = &told
	return all[0].Statistics(), err
}

// ofPersons gives the release the privacy of persons, and tells about how many of them had rows
// left out. The count changes by 1 with a person.
func (s *Settled) ofPersons(r *release.Release) (*release.Release, error) {
	if s.people == nil {
		return r, nil
	}
	p := release.Persons{Rows: string(s.people.how.Rule.Kind)}
	if epsilon := s.moreEpsilon(); epsilon > 0 {
		p.Most, p.Epsilon = int64(s.people.how.Rule.Most), epsilon
		var err error
		if p.More, p.Scale, err = ssp.PublishCount(s.people.told.More, epsilon, s.entropy()); err != nil {
			return nil, err
		}
	}
	return r.WithPersons(p, s.Privacy)
}

// personsDiffer says why the persons of r are not those ordered, nil if they are.
func (s *Settled) personsDiffer(r *release.Release) error {
	has, asked := "rows", "rows"
	if r.Persons != nil {
		has = fmt.Sprintf("persons, by %s %d", r.Persons.Rows, r.Persons.Most)
	}
	if s.Persons.Column != "" {
		asked = fmt.Sprintf("persons, by %s %d", s.Persons.Rule.Kind, s.Persons.Rule.Most)
	}
	if has != asked {
		return fmt.Errorf("its privacy is of %s, not of %s", has, asked)
	}
	return nil
}
