package sums

import (
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/ssp"
)

// A part of persons of which an engine loses a piece, or sends one twice, is found out.
func TestPieces(t *testing.T) {
	how := persons.Grouping{Rule: persons.Rule{Kind: persons.Mean}}
	g := persons.NewGroup(how, 1, 1)
	defer g.Close()
	must.Do(t, g.Workers()[0].Add([]float64{0.5, 1, 2, -0.5, 1, 2}))
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
