package main

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/calibration/compare"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	releaseFlags
	n, p, simulated, shard string
	methods                []string
	clients, trials, jobs  int
	test                   float64
	seed                   uint64
	holdsData, prepare     bool
	comparisonOutput
}

func (f *compareFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.epsilon, "eps", "", "privacy budgets ε, a `LIST` such as 0.3,1,3")
	fs.StringVar(&f.delta, "delta", "", "δ, a `NUMBER` far below 1/n, such as 1e-6; without it methods whose noise is Gaussian are left out")
	fs.StringArrayVar(&f.bounds, "bounds", nil, "public bounds of a column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file")
	fs.StringVar(&f.schema, "schema", "", "Frictionless Table Schema `FILE` with bounds and levels (default: data.schema.json beside data.csv)")
	fs.StringVar(&f.formula, "formula", "", formulaUsage+"default: the last column on all others")
	f.registerCells(cmd)
	fs.Float64Var(&f.test, "test", 0.2, "share of the table's rows that is predicted, a `NUMBER` between 0 and 1")
	fs.StringVar(&f.n, "n", "", "without a table: numbers of simulated rows, a `LIST` such as 1000,10000")
	fs.StringVar(&f.p, "p", "", "without a table: numbers of covariates, a `LIST` (default 2)")
	fs.StringVar(&f.simulated, "data", "", "without a table: `NAME` of what becomes of values outside the bounds: unclamped (default) or clamped")
	fs.StringSliceVar(&f.methods, "method", nil, "`NAME` of a method; repeatable, or a list: "+strings.Join(compare.MethodNames(), ", ")+" (default: "+strings.Join(compare.DefaultMethods(), ", ")+")")
	fs.IntVar(&f.clients, "clients", 10, "`NUMBER` of clients of dp-pvi, who share the rows")
	fs.IntVar(&f.trials, "trials", 20, "`NUMBER` of trials")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the study, its noise included, a `NUMBER`")
	fs.IntVar(&f.jobs, "jobs", 0, "`NUMBER` of trials to work on at once (default: the number of cores)")
	fs.BoolVar(&f.prepare, "prepare", false, "run no trial, but make the directory of --save, for dpreg-beam compare")
	fs.StringVar(&f.shard, "shard", "", "run part `I/K` of the trials only, with --save")
	fs.BoolVar(&f.holdsData, "i-hold-the-data", false, "for a table: you may see the rows, and the output stays with you")
	f.comparisonOutput.register(cmd)
	oneOf(cmd, "data", string(calibration.Unclamped), string(calibration.Clamped))
	oneOf(cmd, "method", compare.MethodNames()...)
}

// notOfComparison are the flags that do not say what is compared.
var notOfComparison = []string{"save", "prepare", "shard", "plot", "format", "jobs", "i-hold-the-data", "help"}

// design is what the flags say or, where they say nothing, what --save holds; and the rows
// of the table.
func (f *compareFlags) design(stderr io.Writer, cmd *cobra.Command, data string) (*compare.Design, *calibration.Rows, error) {
	if data != "" && !f.holdsData {
		return nil, nil, refusef("compare prints what the rows of %s say, without privacy. If you may see the rows and keep the output to yourself, say --i-hold-the-data", data)
	}
	if f.jobs < 0 {
		return nil, nil, usagef("--jobs %d: at least 1, or 0 for the number of cores", f.jobs)
	}
	said := 0
	for _, name := range notOfComparison {
		if cmd.Flags().Changed(name) {
			said++
		}
	}
	if cmd.Flags().NFlag() == said && f.save != "" {
		return f.again(stderr, data)
	}
	d, err := f.base(stderr, cmd)
	if err != nil {
		return nil, nil, err
	}
	if data == "" {
		if err := f.simulation(cmd, d); err != nil {
			return nil, nil, err
		}
		return d, nil, usage(d.Validate())
	}
	rows, err := f.table(stderr, cmd, d, data)
	if err != nil {
		return nil, nil, err
	}
	return d, rows, usage(d.Validate())
}

// again goes on with the study that --save holds.
func (f *compareFlags) again(stderr io.Writer, data string) (*compare.Design, *calibration.Rows, error) {
	d, err := readComparison(f.save)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, usagef("--save %s: there is no study yet; say what to compare: --eps, and a table or --n", f.save)
	case err != nil:
		return nil, nil, usage(err)
	case d.Table == nil && data != "":
		return nil, nil, usagef("--save %s: its study simulates rows, and takes no table", f.save)
	case d.Table == nil:
		return d, nil, nil
	case data == "":
		return nil, nil, usagef("--save %s: its study is of %s: name the file", f.save, d.Table.Name)
	}
	if f.source, err = findRows(data); err != nil {
		return nil, nil, err
	}
	rows, err := readAll(stderr, f.source, &d.Table.Columns, table.Options{Missing: d.Table.Missing, NA: d.Table.NA})
	return d, rows, err
}

// base takes what does not depend on where rows come from.
func (f *compareFlags) base(stderr io.Writer, cmd *cobra.Command) (*compare.Design, error) {
	d := &compare.Design{Format: compare.DesignFormat, Methods: f.methods, Clients: f.clients, Trials: f.trials, Seed: f.seed}
	if f.epsilon == "" {
		return nil, usagef("--eps is missing: say how much privacy methods may spend, as in --eps 1 or --eps 0.3,1,3")
	}
	var err error
	if d.Epsilons, err = parseList("eps", f.epsilon, schema.ParseNumber); err != nil {
		return nil, err
	}
	if d.Delta, err = f.parseDelta(); err != nil {
		return nil, err
	}
	if !cmd.Flags().Changed("method") {
		d.Methods = compare.DefaultMethods()
		if d.Delta == 0 {
			d.Methods = slices.DeleteFunc(d.Methods, compare.NeedsDelta)
			note(stderr, "without --delta the methods whose noise is Gaussian are left out: %s, %s and %s", compare.DPVI, compare.DPPVI, compare.AdaSSP)
		}
	}
	return d, nil
}

// simulation takes --n, --p and --data.
func (f *compareFlags) simulation(cmd *cobra.Command, d *compare.Design) (err error) {
	for _, name := range []string{"bounds", "schema", "formula", "missing", "na", "test", "i-hold-the-data"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is for a table: name its file, as in dpreg compare --eps 1 data.csv", name)
		}
	}
	if f.n == "" {
		return usagef("say what to compare on: a table, as in dpreg compare --eps 1 data.csv, or --n for simulated rows, as in --n 1000")
	}
	if d.Ns, err = parseList("n", f.n, func(text string) (int64, error) { return parseWhole(text, math.MaxInt32) }); err != nil {
		return err
	}
	d.Ps = []int{2}
	if f.p != "" {
		list, err := parseList("p", f.p, func(text string) (int64, error) { return parseWhole(text, maxPlanned) })
		if err != nil {
			return err
		}
		d.Ps = nil
		for _, p := range list {
			d.Ps = append(d.Ps, int(p))
		}
	}
	d.Data = calibration.Unclamped
	if f.simulated != "" {
		d.Data = calibration.Data(f.simulated)
	}
	return nil
}

// table takes the columns and reads the rows.
func (f *compareFlags) table(stderr io.Writer, cmd *cobra.Command, d *compare.Design, data string) (*calibration.Rows, error) {
	for _, name := range []string{"n", "p", "data"} {
		if cmd.Flags().Changed(name) {
			return nil, usagef("--%s is for simulated rows: leave %s out, or the flag", name, data)
		}
	}
	cells, err := f.cells(false)
	if err != nil {
		return nil, err
	}
	design, unbounded, err := f.releaseFlags.design(stderr, data)
	if err != nil {
		return nil, err
	}
	if unbounded != nil {
		return nil, errNoBounds
	}
	rows, err := readAll(stderr, f.source, design, cells)
	if err != nil {
		return nil, err
	}
	d.Table = &compare.Table{Table: tableOf(data, design, cells, rows), Test: f.test}
	return rows, nil
}
