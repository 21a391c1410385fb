package sums

import (
	"context"
	"errors"
	"io/fs"
	"math/big"
	"runtime"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpreg/dpreg/beam/staging"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

func init() {
	register.DoFn4x1[context.Context, Shard, func(Part), func(Fault), error](&scan{})
	register.Emitter1[Part]()
	register.Emitter1[Fault]()
	register.DoFn2x1[context.Context, []byte, error](&store{})
}

// Shard is a file, the unit of work.
type Shard struct {
	Number int // in the order of paths
	Path   string
}

// Fault is what is wrong with the rows of a shard. It is a result, not a failure: a runner
// would repeat the work of a failure, to no avail, and tell of it in pages of its own. It
// holds nothing of a cell.
type Fault struct {
	Shard   int
	Line    int    // 0: the whole file
	Column  string // empty: the whole line
	Missing bool   // the cell is missing
	Text    string
}

// scan sums shards, on all the processors of the worker, one after another, and emits one
// sum of a bundle: engines keep all that is emitted.
type scan struct {
	Design  *schema.Design
	Options table.Options

	part Part
}

func (f *scan) StartBundle(context.Context, func(Part), func(Fault)) {
	f.part = newPart(len(f.Design.Columns()))
}

func (f *scan) FinishBundle(_ context.Context, parts func(Part), _ func(Fault)) { parts(f.part) }

// ProcessElement adds the sums of the rows, or emits what is wrong with them. Other errors,
// of disks and networks, are for the runner, which may try again.
func (f *scan) ProcessElement(ctx context.Context, s Shard, _ func(Part), faults func(Fault)) error {
	part, err := f.sum(ctx, s)
	var wrong *table.Error
	switch {
	case errors.As(err, &wrong):
		faults(Fault{s.Number, wrong.Line, wrong.Column, errors.Is(wrong, table.ErrMissing), wrong.Err.Error()})
		return nil
	case errors.Is(err, fs.ErrNotExist):
		faults(Fault{Shard: s.Number, Text: "a worker does not find this file"})
		return nil
	case err != nil:
		return err
	}
	f.part, err = f.part.add(part)
	return err
}

func (f *scan) sum(ctx context.Context, s Shard) (part Part, err error) {
	rows, remove, err := open(ctx, s.Path)
	if err != nil {
		return part, err
	}
	defer remove()
	parts := make([]*ssp.Accumulator, runtime.GOMAXPROCS(0))
	sinks := make([]func([]float64) error, len(parts))
	for i := range parts {
		parts[i] = ssp.NewAccumulator(len(f.Design.Columns()))
		sinks[i] = parts[i].AddRows
	}
	if err := f.Options.Scan(ctx, rows, f.Design, sinks...); err != nil {
		return part, err
	}
	part = Part{Shards: new(big.Int).SetBit(new(big.Int), s.Number, 1), Sums: parts[0]}
	errors.As(rows.Warning(), &part.Enclosed)
	for _, other := range parts[1:] {
		if err := parts[0].Merge(other); err != nil {
			return part, err
		}
	}
	return part, nil
}

// store writes the one element that there is to the staging directory.
type store struct {
	Dir  staging.Dir
	Kind string
}

func (f *store) ProcessElement(ctx context.Context, content []byte) error {
	return f.Dir.Write(ctx, f.Kind, content)
}
