package sums

import (
	"encoding/binary"
	"errors"
	"math/big"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dpreg/dpreg/ssp"
)

func init() {
	beam.RegisterCoder(reflect.TypeFor[Part](), encode, decode)
}

// Part are the sums of some shards, and which these are: what engines promise of elements
// that are lost or repeated is not taken on trust.
type Part struct {
	Shards *big.Int // bit i: shard i
	Sums   *ssp.Accumulator
}

// newPart is that of no shard.
func newPart(columns int) Part { return Part{new(big.Int), ssp.NewAccumulator(columns)} }

var errTwice = errors.New("the engine counted a shard twice")

// add adds the sums of other shards: an error if one is there already.
func (p Part) add(other Part) (Part, error) {
	if new(big.Int).And(p.Shards, other.Shards).Sign() != 0 {
		return p, errTwice
	}
	p.Shards.Or(p.Shards, other.Shards)
	return p, p.Sums.Merge(other.Sums)
}

// encode writes the length of the set, the set and the sums.
func encode(p Part) ([]byte, error) {
	shards := p.Shards.Bytes()
	sums, err := p.Sums.MarshalBinary()
	out := binary.AppendUvarint(nil, uint64(len(shards)))
	return append(append(out, shards...), sums...), err
}

func decode(data []byte) (Part, error) {
	n, at := binary.Uvarint(data)
	if at <= 0 || n > uint64(len(data)-at) {
		return Part{}, errors.New("this is no part of a sum")
	}
	data = data[at:]
	p := Part{new(big.Int).SetBytes(data[:n]), ssp.NewAccumulator(1)}
	return p, p.Sums.UnmarshalBinary(data[n:])
}
