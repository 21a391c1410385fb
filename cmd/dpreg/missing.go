package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/table"
)

// registerCells registers the flags on how cells are read.
func (f *releaseFlags) registerCells(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.missing, "missing", string(table.MissingError), "`NAME`: what to do about missing cells: error, midpoint (the middle of the public bounds), or drop the row (needs add-remove neighbours)")
	fs.StringArrayVar(&f.na, "na", nil, "`TEXT` of a cell that means missing; repeatable (default: NA; an empty cell always does)")
	oneOf(cmd, "missing", string(table.MissingError), string(table.Midpoint), string(table.Drop))
}

// cells turns the flags into options of the table. Rows may be left out where their
// number is not public: under add-remove neighbours, or where nothing is released.
func (f *releaseFlags) cells(released bool) (table.Options, error) {
	neighbours := release.Neighbours(f.neighbours)
	if !released {
		neighbours = release.AddRemove
	}
	o, err := custody.Cells(table.Options{Missing: table.Missing(strings.ToLower(f.missing)), NA: f.na}, neighbours)
	o.Empty = o.Empty && released
	return o, err
}

// noteMissing says what becomes of missing cells. That there were any, and how many,
// it must not say: it is computed from the rows.
func noteMissing(stderr io.Writer, o table.Options) {
	switch o.Missing {
	case table.Midpoint:
		note(stderr, "--missing midpoint: a missing cell counts as the middle of its public bounds, which biases slopes, as a rule towards 0 (docs/factors.md)")
	case table.Drop:
		note(stderr, "--missing drop: a row with a missing cell is left out (docs/factors.md)")
	}
}
