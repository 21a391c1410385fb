package sums

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"runtime"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

func init() {
	register.DoFn2x2[context.Context, Shard, Part, error](&scan{})
	register.Function2x2(merge)
	register.DoFn2x1[context.Context, Part, error](&store{})
	beam.RegisterCoder(reflect.TypeFor[Part](), encode, decode)
}

// Shard is a file, the unit of work.
type Shard struct {
	Number int // in the order of paths
	Path   string
}

// Part are the sums of some shards, and which these are: what engines promise of elements
// that are lost or repeated is not taken on trust.
type Part struct {
	Shards   []int // in order
	Enclosed table.Enclosed
	Sums     []byte // an ssp.Accumulator; nil where there is a fault
	Fault    *Fault // of the first shard that has one; nil: none
}

// Fault is what is wrong with the rows of a shard. It is a result, not a failure: a runner
// would repeat the work of a failure, to no avail, and tell of it in pages of its own. It
// holds nothing of a cell.
type Fault struct {
	Line    int    // 0: the whole file
	Column  string // empty: the whole line
	Missing bool   // the cell is missing
	Text    string
	Shard   int
}

func encode(p Part) ([]byte, error) { return json.Marshal(p) }

func decode(data []byte) (p Part, err error) { return p, json.Unmarshal(data, &p) }

// merge adds the sums of shards. Integers: so it is associative and commutative, exactly.
func merge(a, b Part) (Part, error) {
	all := Part{Shards: slices.Sorted(slices.Values(slices.Concat(a.Shards, b.Shards))), Enclosed: a.Enclosed, Fault: a.Fault}
	all.Enclosed.Add(b.Enclosed)
	if a.Fault == nil || b.Fault != nil && b.Fault.Shard < a.Fault.Shard {
		all.Fault = b.Fault
	}
	if all.Fault != nil {
		return all, nil
	}
	var x, y ssp.Accumulator
	err := errors.Join(x.UnmarshalBinary(a.Sums), y.UnmarshalBinary(b.Sums))
	if err == nil {
		err = x.Merge(&y)
	}
	if err == nil {
		all.Sums, err = x.MarshalBinary()
	}
	return all, err
}

// scan sums shards, on all the processors of the worker, one after another.
type scan struct {
	Design  *schema.Design
	Options table.Options
}

// ProcessElement sums the rows, or tells what is wrong with them. Other errors, of disks and
// networks, are for the runner, which may try again.
func (f *scan) ProcessElement(ctx context.Context, s Shard) (part Part, err error) {
	part.Shards = []int{s.Number}
	err = f.sum(ctx, s.Path, &part)
	var wrong *table.Error
	switch {
	case errors.As(err, &wrong):
		part.Fault = &Fault{wrong.Line, wrong.Column, errors.Is(wrong, table.ErrMissing), wrong.Err.Error(), s.Number}
	case errors.Is(err, fs.ErrNotExist):
		part.Fault = &Fault{Shard: s.Number, Text: "a worker does not find this file"}
	default:
		return part, err
	}
	return part, nil
}

func (f *scan) sum(ctx context.Context, path string, part *Part) error {
	rows, remove, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer remove()
	sums, _, err := ssp.Accumulate(ctx, rows, f.Options, f.Design, false, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	errors.As(rows.Warning(), &part.Enclosed)
	part.Sums, err = sums.MarshalBinary()
	return err
}

// store writes the one element that there is to the staging directory.
type store struct{ Dir job.Dir }

func (f *store) ProcessElement(ctx context.Context, all Part) error {
	text, err := encode(all)
	if err != nil {
		return err
	}
	return f.Dir.Write(ctx, text)
}
