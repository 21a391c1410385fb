// Package sums is a Beam pipeline that sums the rows of a table of many files: each file,
// a shard, by one worker into an ssp.Accumulator, and these into one. Rows do not leave
// the worker that reads them, and no noise is drawn here: what comes back are exact sums,
// the same whatever the engine, the order, and the number of workers and of attempts.
package sums

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/beam/staging"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Kinds of files in the staging directory.
const (
	sumsKind  = "sums"
	faultKind = "fault"
)

// Sum sums the rows of files, of the columns of d in scaled units, exactly and without
// noise. paths are as workers can open them.
//
// Errors: what is wrong with the rows, an *table.Error about the first shard that has
// something wrong, with the least path first; what the engine says where job.Run gives up.
// As for ssp.Sum, it is none that there are no rows. A warning of the rows is told to e.Say.
func Sum(ctx context.Context, e job.Engine, dir staging.Dir, paths []string, o table.Options, d *schema.Design) (*ssp.Statistics, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	o.Empty = true // a shard may be
	if err := e.Run(ctx, func() *beam.Pipeline { return pipeline(dir, paths, o, d) }); err != nil {
		return nil, err
	}
	faults, err := dir.Read(ctx, faultKind)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, read(faults[0], paths)
	}
	found, err := dir.Read(ctx, sumsKind)
	if err != nil {
		return nil, err
	}
	all, err := one(found, len(paths))
	if err != nil {
		return nil, err
	}
	if all.Enclosed.Cells > 0 && e.Say != nil {
		e.Say("warning: " + all.Enclosed.Error())
	}
	return all.Sums.Statistics(), nil
}

// pipeline is the whole job.
func pipeline(dir staging.Dir, paths []string, o table.Options, d *schema.Design) *beam.Pipeline {
	shards := make([]Shard, len(paths))
	for i, path := range paths {
		shards[i] = Shard{i, path}
	}
	p, s := beam.NewPipelineWithRoot()
	spread := beam.Reshuffle(s, beam.CreateList(s, shards))
	parts, faults := beam.ParDo2(s, &scan{Design: d, Options: o}, spread)
	beam.ParDo0(s, &store{dir, sumsKind}, beam.Combine(s, &merge{len(d.Columns())}, parts))
	beam.ParDo0(s, &store{dir, faultKind}, beam.Combine(s, &first{}, faults))
	return p
}

// read turns the fault of a worker into the error that it was.
func read(text []byte, paths []string) error {
	var f Fault
	if err := json.Unmarshal(text, &f); err != nil || f.Shard < 0 || f.Shard >= len(paths) {
		return errors.New("a worker's message cannot be read: is it of the same version as this program?")
	}
	wrong := error(errors.New(f.Text))
	if f.Missing {
		wrong = table.ErrMissing
	}
	return &table.Error{File: paths[f.Shard], Line: f.Line, Column: f.Column, Err: wrong}
}

// one gives the sums that were found, which have to be of all shards: engines may do the
// last step more than once, each time with the same result.
func one(found [][]byte, shards int) (all Part, err error) {
	if len(found) == 0 {
		return all, errors.New("the job ended without sums: can its workers write to the staging directory?")
	}
	for _, other := range found[1:] {
		if string(other) != string(found[0]) {
			return all, errors.New("the job ended with two different sums: did the files change while they were read?")
		}
	}
	if all, err = decode(found[0]); err != nil {
		return all, fmt.Errorf("the job's sums: %w", err)
	}
	for i := range shards {
		if all.Shards.Bit(i) == 0 {
			return all, fmt.Errorf("the engine left out a shard, file %d of %d, and did not say so", i+1, shards)
		}
	}
	return all, nil
}
