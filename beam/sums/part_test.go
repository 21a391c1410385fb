package sums

import (
	"math/big"
	"testing"

	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// An engine that counts a shard twice, or leaves one out, is found out.
func TestPart(t *testing.T) {
	part := func(shards int64, rows ...float64) Part {
		a := ssp.NewAccumulator(1)
		if err := a.AddRows(rows); err != nil {
			t.Fatal(err)
		}
		return Part{big.NewInt(shards), table.Enclosed{Cells: 1, Lines: 2}, a}
	}
	f := &merge{Columns: 1}
	all, err := f.AddInput(f.CreateAccumulator(), part(0b001, 0.5))
	if err == nil {
		all, err = f.MergeAccumulators(part(0b100, -1, 1), all)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.AddInput(all, part(0b100, 1)); err != errTwice {
		t.Errorf("a shard twice: %v", err)
	}
	text, err := f.ExtractOutput(all)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one([][]byte{text, text}, 3); err == nil {
		t.Error("the second shard is missing")
	}
	if all, err = f.AddInput(all, part(0b010, 0.25)); err != nil {
		t.Fatal(err)
	}
	whole, err := f.ExtractOutput(all)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := one([][]byte{whole, whole}, 3); err != nil || s.Sums.Statistics().N != 4 || s.Enclosed != (table.Enclosed{Cells: 3, Lines: 6}) {
		t.Errorf("%v: %v", s, err)
	}
	for i := range whole {
		if s, err := one([][]byte{whole[:i]}, 3); err == nil {
			t.Fatalf("%d bytes of %d give a part of shards %v", i, len(whole), s.Shards)
		}
	}
	if _, err := one([][]byte{whole, text}, 3); err == nil {
		t.Error("two different sums")
	}
	if _, err := one(nil, 3); err == nil {
		t.Error("no sums")
	}
}
