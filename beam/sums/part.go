package sums

import (
	"encoding/binary"
	"errors"
	"math/big"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

func init() {
	beam.RegisterCoder(reflect.TypeFor[Part](), encode, decode)
}

// Part are the sums of some shards, and which these are: what engines promise of elements
// that are lost or repeated is not taken on trust.
type Part struct {
	Shards   *big.Int // bit i: shard i
	Enclosed table.Enclosed
	Sums     *ssp.Accumulator
}

// newPart is that of no shard.
func newPart(columns int) Part { return Part{Shards: new(big.Int), Sums: ssp.NewAccumulator(columns)} }

var errPart = errors.New("this is no part of a sum")

var errTwice = errors.New("the engine counted a shard twice")

// add adds the sums of other shards: an error if one is there already.
func (p Part) add(other Part) (Part, error) {
	if new(big.Int).And(p.Shards, other.Shards).Sign() != 0 {
		return p, errTwice
	}
	p.Shards.Or(p.Shards, other.Shards)
	p.Enclosed.Add(other.Enclosed)
	return p, p.Sums.Merge(other.Sums)
}

// encode writes the length of the set, the set, what is enclosed and the sums.
func encode(p Part) ([]byte, error) {
	shards := p.Shards.Bytes()
	sums, err := p.Sums.MarshalBinary()
	out := binary.AppendUvarint(nil, uint64(len(shards)))
	out = append(out, shards...)
	out = binary.AppendUvarint(out, uint64(p.Enclosed.Cells))
	out = binary.AppendUvarint(out, uint64(p.Enclosed.Lines))
	return append(out, sums...), err
}

func decode(data []byte) (Part, error) {
	n, at := binary.Uvarint(data)
	if at <= 0 || n > uint64(len(data)-at) {
		return Part{}, errPart
	}
	data = data[at:]
	p := Part{Shards: new(big.Int).SetBytes(data[:n]), Sums: ssp.NewAccumulator(1)}
	data = data[n:]
	for _, count := range []*int{&p.Enclosed.Cells, &p.Enclosed.Lines} {
		n, at := binary.Uvarint(data)
		if at <= 0 {
			return Part{}, errPart
		}
		*count, data = int(n), data[at:]
	}
	return p, p.Sums.UnmarshalBinary(data)
}
