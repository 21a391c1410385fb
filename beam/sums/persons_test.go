package sums

import (
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// A part of persons of which an engine loses a piece, or sends one twice, is found out.
func TestPieces(t *testing.T) {
	how := persons.Grouping{Rule: persons.Rule{Kind: persons.Mean}}
	g := persons.NewGroup(how, 1, 1)
	defer g.Close()
	must.Do(t, g.Adds()[0]([]float64{0.5, 1, 2, -0.5, 1, 2}))
	var pieces []Piece
	err := g.Encode(func(part int, groups []byte, last bool) error {
		if part == 0 {
			pieces = append(pieces, Piece{Shard: 3, Groups: groups, Last: last})
		}
		return nil
	})
	if err != nil || len(pieces) != 1 {
		t.Fatal(len(pieces), err)
	}
	whole := []Piece{{Shard: 3, Groups: nil}, {Shard: 3, Number: 1, Groups: pieces[0].Groups, Last: true}, {Shard: 1, Last: true}}
	gathered := func(pieces ...Piece) (Part, error) {
		return (&gather{ssp.Pass{Columns: 1}, how}).ProcessElement(t.Context(), 0, func(p *Piece) bool {
			if len(pieces) == 0 {
				return false
			}
			*p, pieces = pieces[0], pieces[1:]
			return true
		})
	}
	part, err := gathered(whole...)
	if err != nil || part.Told.Persons != 1 || !slices.Equal(part.Shards, []int{persons.Parts, 3 * persons.Parts}) {
		t.Errorf("%+v, %v", part, err)
	}
	for i := range whole {
		if i < 2 {
			if part, err := gathered(slices.Delete(slices.Clone(whole), i, i+1)...); err == nil {
				t.Errorf("without piece %d: %+v", i, part)
			}
		}
		if part, err := gathered(append(slices.Clone(whole), whole[i])...); err == nil {
			t.Errorf("piece %d twice: %+v", i, part)
		}
	}
	damaged := slices.Clone(whole)
	damaged[1].Groups = damaged[1].Groups[1:]
	if _, err := gathered(damaged...); err == nil {
		t.Error("a damaged piece is taken")
	}
}

// An engine that counts a shard twice, or leaves one out, is found out.
func TestPart(t *testing.T) {
	part := func(shard int, rows ...float64) Part {
		a := ssp.NewAccumulator(1)
		must.Do(t, a.AddRows(rows))
		sums := must.Get(a.MarshalBinary())(t)
		return Part{Shards: []int{shard}, Enclosed: table.Enclosed{Cells: 1, Lines: 2}, Sums: sums}
	}
	merged := func(a, b Part) Part {
		t.Helper()
		return must.Get((&merger{ssp.Pass{Columns: 1}}).MergeAccumulators(a, b))(t)
	}
	text := func(p Part) []byte {
		return must.Get(encode(p))(t)
	}
	paths := []string{"0", "1", "2"}
	some := merged(part(2, -1, 1), part(0, 0.5))
	for name, bad := range map[string]Part{
		"the second shard is missing":  some,
		"the third one is there twice": merged(some, part(2, 1)),
		"a shard twice beside all":     merged(merged(some, part(1, 0.25)), part(1, 0.25)),
	} {
		if _, err := one([][]byte{text(bad)}, paths, 1); err == nil {
			t.Error(name)
		}
	}
	all := merged(part(1, 0.25), some)
	whole := text(all)
	var sums ssp.Accumulator
	if s, err := one([][]byte{whole, whole}, paths, 1); err != nil || sums.UnmarshalBinary(s.Sums) != nil || sums.Statistics().N != 4 || s.Enclosed != (table.Enclosed{Cells: 3, Lines: 6}) {
		t.Errorf("%v: %v", s, err)
	}
	for i := range whole {
		if s, err := one([][]byte{whole[:i]}, paths, 1); err == nil {
			t.Fatalf("%d bytes of %d give a part of shards %v", i, len(whole), s.Shards)
		}
	}
	if _, err := one([][]byte{whole, text(some)}, paths, 1); err == nil {
		t.Error("two different sums")
	}
	if _, err := one(nil, paths, 1); err == nil {
		t.Error("no sums")
	}
	faulty := func(shard int) Part {
		return Part{Shards: []int{shard}, Fault: &Fault{Shard: shard, Text: paths[shard]}}
	}
	if _, err := one([][]byte{text(merged(merged(faulty(2), all), faulty(1)))}, paths, 1); err == nil || err.Error() != "1: 1" {
		t.Errorf("the fault of the first shard: %v", err)
	}
}
