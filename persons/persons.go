// Package persons bounds what a person adds to sums over rows, by a rule that is public:
// the person's rows are averaged; or each has a weight, in all 1; or at most K are taken,
// which ones a keyed hash says. Whatever the order of rows, and whoever else is in the data, what a
// person's rows become is the same, so that data sets that differ in one person differ in what
// that person's rows become alone. docs/persons.md has the proofs.
package persons

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
)

// Rule says what becomes of a person's rows.
type Rule struct {
	Kind Kind
	Most int // rows that are taken, of Rows
}

// Kind is a kind of rule.
type Kind string

// The kinds.
const (
	Mean   Kind = "mean"   // one row, their mean
	Weight Kind = "weight" // each has a weight of one over their number
	Rows   Kind = "rows"   // at most so many of them
)

// MaxRows is the largest number of rows that may be taken of a person.
const MaxRows = 1000

// ParseRule reads mean, weight, or a number of rows.
func ParseRule(text string) (Rule, error) {
	if text == string(Mean) || text == string(Weight) {
		return Rule{Kind: Kind(text)}, nil
	}
	if k, err := strconv.Atoi(text); err == nil && k >= 1 && k <= MaxRows {
		return Rule{Rows, k}, nil
	}
	return Rule{}, fmt.Errorf("%q: mean, weight, or a number of rows from 1 to %d", text, MaxRows)
}

// String is what ParseRule reads.
func (r Rule) String() string {
	if r.Kind == Rows {
		return strconv.Itoa(r.Most)
	}
	return string(r.Kind)
}

// PerPerson is the largest number of rows that a person has under the rule.
func (r Rule) PerPerson() int { return max(1, r.Most) }

// Told is what the rule left: as sensitive as the rows.
type Told struct {
	Persons int64 // who had any row
	More    int64 // who had more rows than are taken
}

// Group takes rows of many persons in any order. Rows have m values on the lattice 2⁻²⁰ in
// [-1, 1], and two that stand for the person (table.Options.Person).
type Group struct {
	rule    Rule
	m       int
	block   cipher.Block // of the hash that chooses rows
	workers []*worker
	parts   [Parts]part
	words   atomic.Int64 // that the parts have in memory
}

// Parts is the number of parts that persons fall into, by what stands for them: each must fit
// into memory.
const Parts = 64

// Memory is what all parts keep, in bytes, before they spill to the disk; tests lower it.
var Memory = 384 << 20

// Grouping is what becomes of rows: what processes that share them are told. Under one key the
// same rows of a person are chosen.
type Grouping struct {
	Rule Rule
	Key  [32]byte // of the hash that chooses rows
}

// NewGroup returns one for rows of m values and so many workers.
func NewGroup(how Grouping, m, workers int) *Group {
	block, err := aes.NewCipher(how.Key[:])
	if err != nil {
		panic(err) // the key has a length of AES
	}
	g := &Group{rule: how.Rule, m: m, block: block}
	waits := max(g.width(), min(mostWait, Memory/8/Parts)/max(2, workers))
	for range workers {
		g.workers = append(g.workers, &worker{group: g, waits: waits})
	}
	return g
}

// Adds are what takes rows that lie one after another, of each worker for one goroutine at a time.
func (g *Group) Adds() (all []func(rows []float64) error) {
	for _, w := range g.workers {
		all = append(all, w.add)
	}
	return all
}

// Close removes what was spilled.
func (g *Group) Close() {
	for i := range g.parts {
		g.parts[i].spilled.close()
	}
}

// worker takes some of the rows.
type worker struct {
	group   *Group
	waiting [Parts][]int64 // records
	waits   int            // words of a part, at most
}

// mostWait is how many words of a part wait, of all workers, until the part takes them; first is of how many records a
// worker has room at first.
const (
	mostWait = 1 << 16
	first    = 4
)

// A row is kept as a record, of words: two that stand for its person, and its values, two in a word.

func (g *Group) width() int { return 2 + (g.m+1)/2 }

// values of a record.
func values(record, to []int64) {
	for j := range to {
		to[j] = int64(int32(record[2+j/2] >> (32 * (j % 2))))
	}
}

const unit = 1 << 20

var errRow = errors.New("a row has a value that is no number in [-1, 1]")

func (w *worker) add(rows []float64) error {
	m, width := w.group.m, w.group.width()
	for ; len(rows) > 0; rows = rows[m+2:] {
		person := int64(rows[m])
		at := partOf(person)
		waiting := w.waiting[at]
		if len(waiting)+width > cap(waiting) {
			if err := w.group.take(at, waiting); err != nil {
				return err
			}
			waiting = make([]int64, 0, min(w.waits, max(first*width, 2*cap(waiting)))) // so that few rows have little
		}
		end := len(waiting)
		waiting = waiting[:end+width]
		w.waiting[at] = waiting
		record := waiting[end:]
		record[0], record[1] = person, int64(rows[m+1])
		for j, v := range rows[:m] {
			if !(v >= -1 && v <= 1) {
				return errRow
			}
			k := int64(math.Floor(float64(v*unit) + 0.5))
			if j%2 == 0 {
				record[2+j/2] = k & (1<<32 - 1)
			} else {
				record[2+j/2] |= k << 32
			}
		}
	}
	return nil
}

// Each ends the taking, and hands what the rows of each person became to the sinks: rows of m
// values, some at a time, in any order. Of Weight it hands on nothing: see Sums.
func (g *Group) Each(ctx context.Context, sinks ...func(rows []float64) error) (Told, error) {
	return g.each(ctx, len(sinks), func(i int) become {
		return &toRows{group: g, sink: sinks[i], rows: make([]float64, 0, 256*g.m), values: make([]int64, g.m)}
	})
}

// Sums ends the taking, of Weight, and hands what each person adds to the sums to add, one for
// each of so many workers: integers, of Σv_j on the lattice 2⁻²⁰·2⁻²⁰ and of Σv_jv_k likewise.
func (g *Group) Sums(ctx context.Context, add ...func(sums []int64) error) (Told, error) {
	return g.each(ctx, len(add), func(i int) become {
		return newToSums(g, add[i])
	})
}

// become hands on what persons' rows become.
type become interface {
	person(records []int64) error // all records of one
	end() error
}

// each has so many workers go through the parts.
func (g *Group) each(ctx context.Context, workers int, become func(i int) become) (told Told, err error) {
	var all sync.WaitGroup
	var next atomic.Int64
	tolds, errs := make([]Told, workers), make([]error, workers)
	for i := range workers {
		all.Go(func() {
			to, sorter := become(i), sorter{width: g.width()}
			for errs[i] == nil {
				part := int(next.Add(1)) - 1
				if part >= Parts {
					errs[i] = to.end()
					return
				}
				if errs[i] = ctx.Err(); errs[i] == nil {
					errs[i] = g.part(part, &sorter, to, &tolds[i])
				}
			}
		})
	}
	all.Wait()
	for _, t := range tolds {
		told.Persons += t.Persons
		told.More += t.More
	}
	return told, errors.Join(errs...)
}

// part hands on a part, person by person.
func (g *Group) part(part int, s *sorter, to become, told *Told) error {
	records, err := g.whole(part)
	if err != nil {
		return err
	}
	return s.byPerson(records, func(own []int64) error {
		told.Persons++
		if g.rule.Kind == Rows && len(own) > g.rule.Most*s.width {
			told.More++
		}
		return to.person(own)
	})
}
