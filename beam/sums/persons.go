package sums

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Persons whose rows are in several shards: who reads a shard groups its rows by person, and sends the groups
// of each of persons.Parts parts, under keyed hashes, to who puts that part together, makes of each person
// what the rule says, and sums it.

// Persons is Sum of what the rows of each person become. The engine's shuffle sees what is grouped, as
// sensitive as the rows.
func Persons(ctx context.Context, e job.Engine, dir job.Dir, paths []string, o table.Options, d *schema.Design, how persons.Grouping, pass ssp.Pass) (ssp.Summand, persons.Told, error) {
	o.Empty = true // a shard may be
	return run(ctx, e, dir, paths, persons.Parts, d, pass, func(s beam.Scope, spread beam.PCollection) beam.PCollection {
		pieces := beam.ParDo(s, &group{d, o, o.PersonKey[:], how}, spread)
		return beam.ParDo(s, &gather{pass, how}, beam.GroupByKey(s, pieces))
	})
}

func init() {
	register.DoFn3x1[context.Context, Shard, func(int, Piece), error](&group{})
	register.Emitter2[int, Piece]()
	register.DoFn3x2[context.Context, int, func(*Piece) bool, Part, error](&gather{})
	register.Iter1[Piece]()
	beam.RegisterCoder(reflect.TypeFor[Piece](), func(p Piece) ([]byte, error) { return json.Marshal(p) }, func(text []byte) (p Piece, err error) { return p, json.Unmarshal(text, &p) })
}

// Piece is some of the groups of one part in a shard.
type Piece struct {
	Shard, Number int
	Last          bool // of this shard and part
	Groups        []byte
	Enclosed      table.Enclosed // of the shard, with the first piece of part 0
	Fault         *Fault         // of the shard, which then has one piece a part
}

// group groups the rows of shards.
type group struct {
	Design    *schema.Design
	Options   table.Options
	PersonKey []byte
	How       persons.Grouping
}

// ProcessElement groups the rows, or tells what is wrong with them.
func (f *group) ProcessElement(ctx context.Context, s Shard, emit func(int, Piece)) error {
	err := f.group(ctx, s, emit)
	fault, err := s.fault(err)
	if fault == nil {
		return err
	}
	for part := range persons.Parts {
		emit(part, Piece{Shard: s.Number, Last: true, Fault: fault})
	}
	return nil
}

func (f *group) group(ctx context.Context, s Shard, emit func(int, Piece)) error {
	rows, remove, err := open(ctx, s.Path)
	if err != nil {
		return err
	}
	defer remove()
	options := f.Options
	copy(options.PersonKey[:], f.PersonKey)
	g := persons.NewGroup(f.How, len(f.Design.Columns()), runtime.GOMAXPROCS(0))
	defer g.Close()
	if err := options.Scan(ctx, rows, f.Design, g.Adds()...); err != nil {
		return err
	}
	var enclosed table.Enclosed
	errors.As(rows.Warning(), &enclosed)
	last, number := -1, 0
	return g.Encode(func(part int, groups []byte, end bool) error {
		if number++; part != last {
			last, number = part, 0
		}
		emit(part, Piece{s.Number, number, end, groups, enclosed, nil})
		enclosed = table.Enclosed{}
		return nil
	})
}

// gather puts parts together.
type gather struct {
	Pass ssp.Pass
	How  persons.Grouping
}

// ProcessElement sums what persons of a part become. Every shard must have sent all its pieces, once.
func (f *gather) ProcessElement(ctx context.Context, part int, next func(*Piece) bool) (all Part, err error) {
	g := persons.NewGroup(f.How, f.Pass.Columns, 1)
	defer g.Close()
	pieces := map[int]*received{}
	for p := (Piece{}); next(&p); p = (Piece{}) {
		of := pieces[p.Shard]
		if of == nil {
			of = &received{map[int]bool{}, -1}
			pieces[p.Shard] = of
		}
		if err := of.add(p); err != nil {
			return all, err
		}
		all.Enclosed.Add(p.Enclosed)
		if p.Fault != nil && (all.Fault == nil || p.Fault.Shard < all.Fault.Shard) {
			all.Fault = p.Fault
		}
		if err := g.Decode(part, p.Groups); err != nil {
			return all, err
		}
	}
	for shard, of := range pieces {
		if len(of.numbers) != of.last+1 {
			return all, fmt.Errorf("the engine lost a piece of shard %d", shard)
		}
		all.Shards = append(all.Shards, shard*persons.Parts+part)
	}
	slices.Sort(all.Shards)
	if all.Fault != nil {
		return all, nil
	}
	sums, told, err := f.sum(ctx, g)
	if err != nil {
		return all, err
	}
	all.Told = told
	all.Sums, err = sums.MarshalBinary()
	return all, err
}

func (f *gather) sum(ctx context.Context, g *persons.Group) (sums ssp.Summand, told persons.Told, err error) {
	if f.How.Rule.Kind == persons.Weight {
		a := ssp.NewAccumulator(f.Pass.Columns)
		told, err = g.Sums(ctx, a.AddPerson)
		return a, told, err
	}
	sums, err = f.Pass.Gather(1, func(sinks ...func([]float64) error) (err error) {
		told, err = g.Each(ctx, sinks...)
		return err
	})
	return sums, told, err
}

// received are the pieces of a shard and part that came.
type received struct {
	numbers map[int]bool
	last    int // -1 before it came
}

func (r *received) add(p Piece) error {
	if r.numbers[p.Number] {
		return fmt.Errorf("the engine sent a piece of shard %d twice", p.Shard)
	}
	r.numbers[p.Number] = true
	if p.Last {
		r.last = p.Number
	}
	return nil
}
