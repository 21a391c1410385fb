package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/beam/sums"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// releaseFlags are those of dpreg release that need nothing but sums, by the same names.
type releaseFlags struct {
	epsilon, delta, mechanism, neighbours, missing string

	bounds, na              []string
	schema, formula, ledger string
	output                  string
	engineFlags
}

func (f *releaseFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.epsilon, "eps", "", "privacy budget ε, a `NUMBER` above 0")
	fs.StringVar(&f.delta, "delta", "", "δ, a `NUMBER` far below 1/n: allows Gaussian noise (default: none, pure ε)")
	fs.StringVar(&f.mechanism, "mechanism", string(ssp.Auto), "`NAME` of the law of the noise: laplace, gaussian or auto, the smaller one")
	fs.StringVar(&f.neighbours, "neighbours", string(release.ReplaceOne), "`NAME`: replace-one, with n public, or add-remove, with n noised")
	fs.StringArrayVar(&f.bounds, "bounds", nil, "public bounds of a column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file")
	fs.StringVar(&f.schema, "schema", "", "Frictionless Table Schema `FILE` with the bounds (default: data.schema.json beside the directory or file data)")
	fs.StringVar(&f.formula, "formula", "", "`FORMULA` such as 'y ~ x1 + x2'; default: the last column on all others")
	fs.StringVar(&f.missing, "missing", string(table.MissingError), "`NAME`: what to do about missing cells: error, midpoint, or drop the row (needs add-remove neighbours)")
	fs.StringArrayVar(&f.na, "na", nil, "`TEXT` of a cell that means missing; repeatable (default: NA; an empty cell always does)")
	fs.StringVar(&f.ledger, "ledger", "", "charge what is spent to this `FILE` (dpreg ledger init), and refuse what it has no room for")
	fs.StringVarP(&f.output, "output", "o", "", "write the release to this `FILE`, which must not exist")
	f.engineFlags.register(cmd)
}

// order is what the flags ask for.
func (f *releaseFlags) order(cmd *cobra.Command, data string) (o custody.Order, err error) {
	o = custody.Order{
		Mechanism: release.Kind(f.mechanism),
		Path:      f.output,
		Ledger:    f.ledger,
		Say:       func(text string) { note(cmd.ErrOrStderr(), "%s", text) },
	}
	if o.Path == "" {
		return o, usagef("say where the release is to go: -o FILE")
	}
	if o.Privacy, err = f.privacy(); err != nil {
		return o, err
	}
	if o.Cells, err = custody.Cells(table.Options{Missing: table.Missing(f.missing), NA: f.na}, o.Privacy.Neighbours); err != nil {
		return o, err
	}
	paths, err := sums.Find(cmd.Context(), data)
	if err != nil {
		return o, usage(err)
	}
	o.Rows = custody.Elsewhere{Name: data, Sum: func(_ context.Context, d *schema.Design, cells table.Options) (*ssp.Statistics, error) {
		return f.sum(cmd, paths, d, cells)
	}}
	o.Design, err = f.design(cmd.Context(), data, paths[0])
	return o, err
}

// privacy reads the flags on it.
func (f *releaseFlags) privacy() (p release.Privacy, err error) {
	if f.epsilon == "" {
		return p, usagef("--eps is missing: say how much privacy to spend, as in --eps 1")
	}
	if p.Epsilon, err = schema.ParseNumber(f.epsilon); err != nil {
		return p, usagef("--eps %q: %w", f.epsilon, err)
	}
	if f.delta != "" {
		if p.Delta, err = schema.ParseNumber(f.delta); err != nil || p.Delta <= 0 {
			return p, usagef("--delta %q: a number above 0 is needed; leave --delta out for pure ε", f.delta)
		}
	}
	p.Neighbours = release.Neighbours(f.neighbours)
	if p.Neighbours != release.ReplaceOne && p.Neighbours != release.AddRemove {
		return p, usagef("--neighbours %q: %s or %s", p.Neighbours, release.ReplaceOne, release.AddRemove)
	}
	return p, nil
}

// design gives the columns of the formula with their public bounds, in the order in which
// the first file has them: those of the schema file, if there is one, and of --bounds.
func (f *releaseFlags) design(ctx context.Context, data, first string) (*schema.Design, error) {
	bounds, err := schema.ParseBounds(f.bounds...)
	if err != nil {
		return nil, usagef("--%w", err)
	}
	described, err := f.described(data)
	if err != nil {
		return nil, usage(err)
	}
	if described == nil && bounds == nil { // else a message would list names that may be a row
		return nil, usagef("no bounds of any column: give them by --bounds NAME=LOWER:UPPER, or by --schema FILE (dpreg schema writes a template)")
	}
	names, err := sums.Header(ctx, first, schema.Known(described, bounds, f.formula)...)
	if err != nil {
		return nil, usage(err)
	}
	all, err := schema.FromHeader(names)
	if err != nil {
		return nil, usagef("%s: %w", first, err)
	}
	if described != nil {
		all.Columns = slices.DeleteFunc(all.Columns, func(c schema.Column) bool {
			return described.Index(c.Name) < 0 && !slices.ContainsFunc(bounds, func(b schema.Column) bool { return b.Name == c.Name })
		})
		for _, c := range described.Columns {
			i := all.Index(c.Name)
			if i < 0 {
				return nil, usagef("the schema describes a column %q, which %s does not have", c.Name, first)
			}
			all.Columns[i] = c
		}
	}
	if all, err = all.WithBounds(bounds); err != nil {
		return nil, usagef("--%w", err)
	}
	d, err := all.Design(f.formula)
	return d, usage(err)
}

// described reads the schema file, if there is one.
func (f *releaseFlags) described(data string) (*schema.Schema, error) {
	path := f.schema
	if path == "" {
		path = table.Stem(strings.TrimSuffix(data, "/")) + ".schema.json"
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && f.schema == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--schema: %w", err)
	}
	defer file.Close()
	return schema.ReadSchema(file, path)
}
