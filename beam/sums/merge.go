package sums

import (
	"encoding/json"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.Combiner3[Part, Part, []byte](&merge{})
	register.Combiner3[Fault, Fault, []byte](&first{})
}

// merge adds the sums of shards. Integers: so it is associative and commutative, exactly.
type merge struct{ Columns int }

func (f *merge) CreateAccumulator() Part { return newPart(f.Columns) }

func (f *merge) AddInput(a, part Part) (Part, error) { return a.add(part) }

func (f *merge) MergeAccumulators(a, b Part) (Part, error) { return a.add(b) }

func (f *merge) ExtractOutput(a Part) ([]byte, error) { return encode(a) }

// first keeps the fault of the first shard that has one, whichever was read sooner.
type first struct{}

const none = -1

func (*first) CreateAccumulator() Fault { return Fault{Shard: none} }

func (f *first) AddInput(a, b Fault) Fault { return f.MergeAccumulators(a, b) }

func (*first) MergeAccumulators(a, b Fault) Fault {
	if a.Shard == none || b.Shard != none && b.Shard < a.Shard {
		return b
	}
	return a
}

func (*first) ExtractOutput(a Fault) ([]byte, error) { return json.Marshal(a) }
