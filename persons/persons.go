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
	workers []*Worker
	parts   [Parts]part
	words   atomic.Int64 // that the parts have
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
	for i := range g.parts {
		g.parts[i].sums = g.table()
	}
	for range workers {
		g.workers = append(g.workers, &Worker{group: g, waits: max(g.record(), mostWait/max(2, workers))})
	}
	return g
}

// table is an empty one. By mean and weight its keys are persons; else persons and values of rows,
// with how often they have them.
func (g *Group) table() *sums {
	switch g.rule.Kind {
	case Mean:
		return newSums(2, 1+g.m)
	case Weight:
		return newSums(2, 1+g.m+g.m*(g.m+1)) // a product has two words
	}
	return newSums(g.record()-1, 1)
}

// Workers are those of the group, each for one goroutine at a time.
func (g *Group) Workers() []*Worker { return g.workers }

// Close removes what was spilled.
func (g *Group) Close() {
	for i := range g.parts {
		g.parts[i].spilled.close()
	}
}

// Worker takes some of the rows.
type Worker struct {
	group   *Group
	waiting [Parts][]int64 // records
	waits   int            // words of a part, at most
}

// A row is kept as a record, of words: two that stand for its person, its values, two in a word,
// and how many rows it is, 1.

// record is the length of one.
func (g *Group) record() int { return 2 + (g.m+1)/2 + 1 }

// values of a record.
func values(record, to []int64) {
	for j := range to {
		to[j] = int64(int32(record[2+j/2] >> (32 * (j % 2))))
	}
}

// mostWait is how many words of a part wait, of all workers, until the part takes them, so that
// one part after another is at hand.
const mostWait = 1 << 16

const unit = 1 << 20

// mostRows is how many rows of a person have a part; more have none. Sums stay below 2⁶³.
const mostRows = 1 << 30

var errRow = errors.New("a row has a value that is no number in [-1, 1]")

// Add takes rows that lie one after another.
func (w *Worker) Add(rows []float64) error {
	g, width, record := w.group, w.group.m+2, w.group.record()
	for ; len(rows) > 0; rows = rows[width:] {
		person := rows[g.m:width]
		at := int(int64(person[0]) >> 46)
		waiting := w.waiting[at]
		if len(waiting)+record > w.waits {
			if err := w.hand(at); err != nil {
				return err
			}
			waiting = w.waiting[at]
		}
		waiting = append(waiting, int64(person[0]), int64(person[1]))
		for j, v := range rows[:g.m] {
			if !(v >= -1 && v <= 1) {
				return errRow
			}
			k := int64(math.Floor(float64(v*unit) + 0.5))
			if j%2 == 0 {
				waiting = append(waiting, k&(1<<32-1))
			} else {
				waiting[len(waiting)-1] |= k << 32
			}
		}
		w.waiting[at] = append(waiting, 1)
	}
	return nil
}

// hand hands the records of a part that wait to it, and makes room for others.
func (w *Worker) hand(part int) error {
	w.waiting[part] = w.group.take(part, w.waiting[part])
	if cap(w.waiting[part]) == 0 {
		w.waiting[part] = make([]int64, 0, w.waits)
	}
	return w.group.bound()
}

// Each ends the taking, and hands what the rows of each person became to the sinks: rows of m
// values, some at a time, in any order. Of Weight it hands on nothing: see Sums.
func (g *Group) Each(ctx context.Context, sinks ...func(rows []float64) error) (Told, error) {
	return g.each(ctx, len(sinks), func(i int) emitter {
		return &rowsEmitter{group: g, sink: sinks[i], rows: make([]float64, 0, 256*g.m), values: make([]int64, g.m)}
	})
}

// Sums ends the taking, of Weight, and hands what each person adds to the sums to add, one for
// each of so many workers: integers, of Σv_j on the lattice 2⁻²⁰·2⁻²⁰ and of Σv_jv_k likewise.
func (g *Group) Sums(ctx context.Context, add ...func(sums []int64) error) (Told, error) {
	return g.each(ctx, len(add), func(i int) emitter {
		return &sumsEmitter{group: g, add: add[i], sums: make([]int64, g.m+g.m*(g.m+1)/2)}
	})
}

// emitter hands on what persons of a table became.
type emitter interface {
	emit(p *part, told *Told) error
	flush() error
}

// each has so many workers go through the parts.
func (g *Group) each(ctx context.Context, workers int, emitter func(i int) emitter) (told Told, err error) {
	var all sync.WaitGroup
	var next atomic.Int64
	tolds, errs := make([]Told, workers), make([]error, workers)
	for i := range workers {
		all.Go(func() {
			e := emitter(i)
			for errs[i] == nil {
				part := int(next.Add(1)) - 1
				if part >= Parts {
					errs[i] = e.flush()
					return
				}
				if errs[i] = ctx.Err(); errs[i] == nil {
					errs[i] = g.part(part, e, &tolds[i])
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

// part adds up a part and hands it on.
func (g *Group) part(part int, e emitter, told *Told) error {
	p, err := g.whole(part)
	if err != nil {
		return err
	}
	return e.emit(p, told)
}

// sumsEmitter hands on what persons add to sums, by Weight.
type sumsEmitter struct {
	group *Group
	add   func(sums []int64) error
	sums  []int64
}

func (e *sumsEmitter) flush() error { return nil }

func (e *sumsEmitter) emit(p *part, told *Told) error {
	t := p.sums
	told.Persons += int64(t.used)
	m := e.group.m
	for i := range t.used {
		_, s := t.entry(i)
		for j, k := range s[1 : 1+m] {
			e.sums[j] = shrunk(k>>12, k&(1<<12-1)<<20, s[0])
		}
		for j := range e.sums[m:] {
			at := 1 + m + 2*j
			e.sums[m+j] = shrunk(s[at], s[at+1], s[0])
		}
		if err := e.add(e.sums); err != nil {
			return err
		}
	}
	return nil
}

// shrunk is ⌊(1 − 2⁻⁴⁰)S/n⌋, S = 2³²a + b, 0 ≤ b, n ≤ mostRows, |S| ≤ 2⁴⁰n. Rounding moves an
// entry by less than 1, which the factor makes up for: docs/persons.md.
func shrunk(a, b, n int64) int64 {
	const low = 1<<32 - 1
	a, b = a+b>>32, b&low
	ceil := a >> 8 // of S/2⁴⁰
	if a&(1<<8-1) != 0 || b != 0 {
		ceil++
	}
	b -= ceil // S − ⌈S/2⁴⁰⌉ = ⌊(1 − 2⁻⁴⁰)S⌋
	a, b = a+b>>32, b&low
	q := floorDiv(a, n)
	return q<<32 + ((a-q*n)<<32+b)/n
}
