// Package sums is a Beam pipeline that sums the rows of a table of many files: each file,
// a shard, by one worker into an ssp.Summand, and these into one. Rows do not leave
// the worker that reads them, and no noise is drawn here: what comes back are exact sums,
// the same whatever the engine, the order, and the number of workers and of attempts.
package sums

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Sum makes a pass over the rows of files, of the columns of d in scaled units, exactly and
// without noise. paths are as workers can open them.
//
// Errors: what is wrong with the rows, an *table.Error about the first shard that has
// something wrong, with the least path first; what the engine says where job.Run gives up.
// As in package custody, it is none that there are no rows. A warning of the rows is told to e.Say.
func Sum(ctx context.Context, e job.Engine, dir job.Dir, paths []string, o table.Options, d *schema.Design, pass ssp.Pass) (ssp.Summand, error) {
	o.Empty = true // a shard may be
	sums, _, err := run(ctx, e, dir, paths, 1, d, pass, func(s beam.Scope, spread beam.PCollection) beam.PCollection {
		return beam.ParDo(s, &scan{d, o, pass}, spread)
	})
	return sums, err
}

// run has a job make parts of shards, spread, and adds them up. A shard is to be counted so many times.
func run(ctx context.Context, e job.Engine, dir job.Dir, paths []string, times int, d *schema.Design, pass ssp.Pass, parts func(s beam.Scope, spread beam.PCollection) beam.PCollection) (sums ssp.Summand, told persons.Told, err error) {
	empty, err := pass.Empty()
	if err := errors.Join(d.Validate(), err); err != nil {
		return nil, told, err
	}
	err = e.Run(ctx, func() *beam.Pipeline {
		shards := make([]Shard, len(paths))
		for i, path := range paths {
			shards[i] = Shard{i, path}
		}
		p, s := beam.NewPipelineWithRoot()
		spread := beam.Reshuffle(s, beam.CreateList(s, shards))
		beam.ParDo0(s, &store{dir}, beam.Combine(s, &merger{pass}, parts(s, spread)))
		return p
	})
	if err != nil {
		return nil, told, err
	}
	found, err := dir.Read(ctx)
	if err != nil {
		return nil, told, err
	}
	all, err := one(found, paths, times)
	if err != nil {
		return nil, told, err
	}
	if all.Enclosed.Cells > 0 && e.Say != nil {
		e.Say("warning: " + all.Enclosed.Error())
	}
	sums = empty()
	if err := sums.UnmarshalBinary(all.Sums); err != nil {
		return nil, told, fmt.Errorf("the job's sums: %w", err)
	}
	return sums, all.Told, nil
}

// one gives the sums that were found, which have to be of all shards, each so many times: engines may do the
// last step more than once, each time with the same result.
func one(found [][]byte, paths []string, times int) (all Part, err error) {
	if len(found) == 0 {
		return all, errors.New("the job ended without sums: can its workers write to the staging directory?")
	}
	for _, other := range found[1:] {
		if string(other) != string(found[0]) {
			return all, errors.New("the job ended with two different sums: did the files change while they were read?")
		}
	}
	if all, err = decode(found[0]); err != nil {
		return all, errors.New("the job's sums cannot be read: are its workers of the same version as this program?")
	}
	if f := all.Fault; f != nil {
		wrong := error(errors.New(f.Text))
		if f.Missing {
			wrong = table.ErrMissing
		}
		return all, &table.Error{File: paths[f.Shard], Line: f.Line, Column: f.Column, Err: wrong}
	}
	for i := range times * len(paths) {
		if i >= len(all.Shards) || all.Shards[i] != i {
			return all, fmt.Errorf("the engine left out a shard, or counted one twice, about file %d of %d, and did not say so", i/times+1, len(paths))
		}
	}
	if len(all.Shards) > times*len(paths) {
		return all, errors.New("the engine counted a shard twice, and did not say so")
	}
	return all, nil
}

func init() {
	register.DoFn2x2[context.Context, Shard, Part, error](&scan{})
	register.Combiner1[Part](&merger{})
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
	Shards   []int // in order; of those that are counted several times: the number of the shard and the time
	Enclosed table.Enclosed
	Told     persons.Told
	Sums     []byte // an ssp.Summand; nil where there is a fault
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

// merger adds the sums of shards. Integers: so it is associative and commutative, exactly.
type merger struct{ Pass ssp.Pass }

// MergeAccumulators merges two parts.
func (f *merger) MergeAccumulators(a, b Part) (Part, error) {
	all := Part{Shards: slices.Sorted(slices.Values(slices.Concat(a.Shards, b.Shards))), Enclosed: a.Enclosed, Fault: a.Fault}
	all.Enclosed.Add(b.Enclosed)
	all.Told = persons.Told{Persons: a.Told.Persons + b.Told.Persons, More: a.Told.More + b.Told.More}
	if a.Fault == nil || b.Fault != nil && b.Fault.Shard < a.Fault.Shard {
		all.Fault = b.Fault
	}
	if all.Fault != nil {
		return all, nil
	}
	var err error
	all.Sums, err = f.Pass.Merge(a.Sums, b.Sums)
	return all, err
}

// scan sums shards, on all the processors of the worker, one after another.
type scan struct {
	Design  *schema.Design
	Options table.Options
	Pass    ssp.Pass
}

// ProcessElement sums the rows, or tells what is wrong with them. Other errors, of disks and
// networks, are for the runner, which may try again.
func (f *scan) ProcessElement(ctx context.Context, s Shard) (part Part, err error) {
	part.Shards = []int{s.Number}
	part.Fault, err = s.fault(f.sum(ctx, s.Path, &part))
	return part, err
}

// fault makes of an error that is of the rows what is wrong with them.
func (s Shard) fault(err error) (*Fault, error) {
	var wrong *table.Error
	switch {
	case errors.As(err, &wrong):
		return &Fault{wrong.Line, wrong.Column, errors.Is(wrong, table.ErrMissing), wrong.Err.Error(), s.Number}, nil
	case errors.Is(err, fs.ErrNotExist):
		return &Fault{Shard: s.Number, Text: "a worker does not find this file"}, nil
	}
	return nil, err
}

func (f *scan) sum(ctx context.Context, path string, part *Part) error {
	rows, remove, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer remove()
	sums, err := f.Pass.Gather(runtime.GOMAXPROCS(0), func(sinks ...func([]float64) error) error {
		return f.Options.Scan(ctx, rows, f.Design, sinks...)
	})
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

// Find gives the paths of the files that a user names, which are those of table.Find, or
// those that fit a URL with a pattern, such as gs://bucket/rows/part-*.csv.gz.
func Find(ctx context.Context, data string) (paths []string, err error) {
	switch {
	case data == table.Stdin:
		return nil, errors.New("standard input cannot be read by several workers: dpreg release reads it")
	case job.Remote(data):
		return list(ctx, data)
	}
	s, err := table.Find(data)
	if err != nil {
		return nil, err
	}
	for _, f := range s.Files {
		path, err := filepath.Abs(f.Path)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func list(ctx context.Context, pattern string) ([]string, error) {
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	paths, err := fs.List(ctx, pattern)
	if err == nil && len(paths) == 0 {
		err = errors.New(pattern + ": there is no such file, and none that this pattern fits")
	}
	slices.Sort(paths)
	return paths, err
}

// Header reads the names of the columns of a file, of which some may be known (table.Source.Header).
func Header(ctx context.Context, path string, known ...string) ([]string, error) {
	s, remove, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer remove()
	return s.Header(known...)
}

// open gives the rows of a file. One that is not on a disk is copied to one first, for the
// user's eyes alone, until remove is called.
func open(ctx context.Context, path string) (s *table.Source, remove func(), err error) {
	remove = func() {}
	if job.Remote(path) {
		folder, err := os.MkdirTemp("", "dpreg-rows-")
		if err != nil {
			return nil, nil, err
		}
		remove = func() { os.RemoveAll(folder) }
		copied := filepath.Join(folder, filepath.Base(path))
		if err := fetch(ctx, path, copied); err != nil {
			remove()
			return nil, nil, err
		}
		path = copied
	}
	if s, err = table.Find(path); err != nil {
		remove()
		return nil, nil, err
	}
	return s, remove, nil
}

func fetch(ctx context.Context, from, to string) error {
	fs, err := filesystem.New(ctx, from)
	if err != nil {
		return err
	}
	defer fs.Close()
	in, err := fs.OpenRead(ctx, from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// States gives of each file what changes when it does: its size, and when it was modified,
// where the file system tells.
func States(ctx context.Context, paths []string) (states []string, err error) {
	fs, err := filesystem.New(ctx, paths[0])
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	for _, path := range paths {
		size, err := fs.Size(ctx, path)
		if err != nil {
			return nil, err
		}
		state := fmt.Sprint(size)
		if dated, ok := fs.(filesystem.LastModifiedGetter); ok {
			modified, err := dated.LastModified(ctx, path)
			if err != nil {
				return nil, err
			}
			state += modified.UTC().String()
		}
		states = append(states, state)
	}
	return states, nil
}
