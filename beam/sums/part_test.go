package sums

import (
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

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
