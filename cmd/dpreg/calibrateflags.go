package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// calibrateFlags are the flags of calibrate.
type calibrateFlags struct {
	preset, n, eps, p, delta    string
	method, kernel, sensitivity string
	data, x, schema, formula    string
	priorFlags
	shard                         string
	trials, chains, warmup, draws int
	ess                           float64
	seed                          uint64
	modelClamping, prepare        bool

	population string
	cells      releaseFlags // how those of the population are read
	holdsData  bool
	studyOutput
}

// presets are the studies that have names.
var presets = map[string]func() *calibration.Design{"fig3": calibration.Fig3, "fig4": calibration.Fig4}

// ownTrials is the number of trials of a study of one's own.
const ownTrials = 100

func (f *calibrateFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.preset, "preset", "", "`NAME` of a study: fig3 or fig4")
	fs.StringVar(&f.population, "population", "", "draw the rows with replacement from those of this `FILE`, coded and clamped; the truth is least squares on all of them")
	fs.StringVar(&f.n, "n", "", "numbers of records, a `LIST` such as 200,1000")
	fs.StringVar(&f.eps, "eps", "", "privacy budgets ε, a `LIST` such as 0.1,0.5,1")
	fs.StringVar(&f.p, "p", "", "numbers of covariates, a `LIST` (default 1); or give --schema")
	fs.StringVar(&f.schema, "schema", "", "Frictionless Table Schema `FILE` with the columns and their public bounds (of data.csv by default data.schema.json)")
	fs.StringVar(&f.formula, "formula", "", formulaUsage+"default: the schema's last column on all others")
	fs.StringArrayVar(&f.cells.bounds, "bounds", nil, "public bounds of a column of --population, `NAME=LOWER:UPPER`; repeatable; wins over a schema file")
	f.cells.registerCells(cmd)
	fs.BoolVar(&f.holdsData, "i-hold-the-data", false, "for --population: you may see the rows, and the output stays with you")
	fs.StringVar(&f.delta, "delta", "0", "δ, a `NUMBER`; above 0, noise is Laplace or Gaussian, whichever is smaller")
	fs.StringVar(&f.method, "method", "", "methods, a `LIST` of "+strings.Join(calibration.MethodNames(), ", ")+" (default: "+strings.Join(calibration.PaperMethods(), ", ")+"; of a population: "+calibration.PopulationMethod+")")
	fs.StringVar(&f.kernel, "kernel", "", "kernels of the methods gibbs-ss-, a `LIST` of exact, plain (default exact; presets: both)")
	fs.StringVar(&f.sensitivity, "sensitivity", "", "what noise is calibrated to, a `LIST` of exact, paper (default exact; presets: both)")
	fs.StringVar(&f.data, "data", "", "`NAME` of what becomes of rows outside the bounds: unclamped (default) or clamped")
	fs.BoolVar(&f.modelClamping, "model-clamping", false, "let mcmc-ind infer with the law of clamped rows; with --data clamped")
	fs.StringVar(&f.x, "x", "", "`NAME` of the law of the covariates: normal (default), binary or skewed")
	f.priorFlags.register(cmd)
	fs.IntVar(&f.trials, "trials", 0, fmt.Sprintf("`NUMBER` of trials of each cell (default %d; fig3: 300, fig4: 100)", ownTrials))
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the study, a `NUMBER`")
	fs.IntVar(&f.chains, "chains", 0, "`NUMBER` of chains (default 2; of a population: 4; kernel plain: 1)")
	fs.IntVar(&f.warmup, "warmup", 0, "`NUMBER` of warm-up iterations of each chain (default 1000; kernel plain: 5000)")
	fs.IntVar(&f.draws, "draws", 0, "`NUMBER` of draws kept of each chain (default: as many as --ess needs; of a population: 500; kernel plain: 2000)")
	fs.Float64Var(&f.ess, "ess", 0, fmt.Sprintf("sample until the effective sample size of every parameter is this `NUMBER` (default %d)", calibration.DefaultESS))
	fs.BoolVar(&f.prepare, "prepare", false, "run no trial, but make the directory of --save, for dpreg-beam calibrate")
	fs.StringVar(&f.shard, "shard", "", "run part `I/K` of the trials only, with --save")
	f.studyOutput.register(cmd)
	oneOf(cmd, "preset", "fig3", "fig4")
	oneOf(cmd, "data", string(calibration.Unclamped), string(calibration.Clamped))
	oneOf(cmd, "x", string(calibration.NormalX), string(calibration.BinaryX), string(calibration.SkewedX))
}

// notOfDesign are the flags that do not say what is studied.
var notOfDesign = []string{"save", "prepare", "shard", "plots", "report", "format", "help", "population", "i-hold-the-data"}

// design is what the flags say or, where they say nothing, what --save holds; and the rows of
// the population.
func (f *calibrateFlags) design(stderr io.Writer, cmd *cobra.Command) (*calibration.Design, *calibration.Rows, error) {
	if err := f.studyOutput.check(cmd); err != nil {
		return nil, nil, err
	}
	if f.population != "" && !f.holdsData {
		return nil, nil, refusef("calibrate prints what the rows of %s say, without privacy. If you may see the rows and keep the output to yourself, say --i-hold-the-data", f.population)
	}
	said := 0
	for _, name := range notOfDesign {
		if cmd.Flags().Changed(name) {
			said++
		}
	}
	if cmd.Flags().NFlag() == said && f.save != "" {
		return f.again(stderr)
	}
	d, err := f.base()
	if err != nil {
		return nil, nil, err
	}
	rows, err := f.draw(stderr, cmd, d)
	if err != nil {
		return nil, nil, err
	}
	for _, change := range []func(*cobra.Command, *calibration.Design) error{f.grid, f.columns, f.arms, f.runs, f.simulation} {
		if err := change(cmd, d); err != nil {
			return nil, nil, err
		}
	}
	return d, rows, usage(d.Validate())
}

// again goes on with the study that --save holds.
func (f *calibrateFlags) again(stderr io.Writer) (*calibration.Design, *calibration.Rows, error) {
	d, err := readStudy(f.save)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, usagef("--save %s: there is no study yet; say what to study: --preset fig3 or fig4, or --n and --eps", f.save)
	case err != nil:
		return nil, nil, usage(err)
	case d.Population == nil && f.population != "":
		return nil, nil, usagef("--save %s: its study simulates rows, and takes no --population", f.save)
	case d.Population == nil:
		return d, nil, nil
	case f.population == "":
		return nil, nil, usagef("--save %s: its study is of %s: name the file by --population", f.save, d.Population.Name)
	}
	source, err := findRows(f.population)
	if err != nil {
		return nil, nil, err
	}
	rows, err := readAll(stderr, source, &d.Population.Columns, table.Options{Missing: d.Population.Missing, NA: d.Population.NA})
	return d, rows, err
}

// draw takes --population: its columns and its rows, nil where there is none.
func (f *calibrateFlags) draw(stderr io.Writer, cmd *cobra.Command, d *calibration.Design) (*calibration.Rows, error) {
	changed := func(flag string) bool { return cmd.Flags().Changed(flag) }
	if f.population == "" {
		for _, flag := range []string{"bounds", "missing", "na", "i-hold-the-data"} {
			if changed(flag) {
				return nil, usagef("--%s is for rows of a table: name its file by --population", flag)
			}
		}
		return nil, nil
	}
	for _, flag := range []string{"preset", "p", "data", "x"} {
		if changed(flag) {
			return nil, usagef("--%s is for simulated rows: leave --population out, or the flag", flag)
		}
	}
	cells, err := f.cells.cells(false)
	if err != nil {
		return nil, err
	}
	f.cells.schema, f.cells.formula = f.schema, f.formula
	columns, unbounded, err := f.cells.design(stderr, f.population)
	if err != nil {
		return nil, err
	}
	if unbounded != nil {
		return nil, errNoBounds
	}
	rows, err := readAll(stderr, f.cells.source, columns, cells)
	if err != nil {
		return nil, err
	}
	of := tableOf(f.population, columns, cells, rows)
	d.Prior = calibration.PriorSpec{Name: calibration.DefaultPrior}
	d.Data, d.X, d.Ps, d.Population, d.Arms = calibration.Resampled, "", nil, &of, calibration.PopulationArms([]string{calibration.PopulationMethod}, exactKernel, exactNoise)
	return rows, nil
}

// exactKernel and exactNoise are those of a study of one's own.
var exactKernel, exactNoise = []string{string(gibbs.Exact)}, []string{calibration.ExactSensitivity}

// base is a preset, or a study of one's own.
func (f *calibrateFlags) base() (*calibration.Design, error) {
	if f.preset != "" {
		preset, ok := presets[f.preset]
		if !ok {
			return nil, usagef("--preset %q: choose one of fig3, fig4", f.preset)
		}
		return preset(), nil
	}
	if f.n == "" || f.eps == "" {
		return nil, usagef("say what to study: --preset fig3 or fig4, or --n and --eps, as in --n 200 --eps 0.5")
	}
	return &calibration.Design{
		Format: calibration.DesignFormat, Data: calibration.Unclamped, X: calibration.NormalX, Ps: []int{1},
		Prior: calibration.PriorSpec{Name: calibration.BoxPrior}, Trials: ownTrials,
		Arms: calibration.Arms(calibration.PaperMethods(), exactKernel, exactNoise),
	}, nil
}

// grid takes --n, --eps and --p.
func (f *calibrateFlags) grid(_ *cobra.Command, d *calibration.Design) (err error) {
	if f.n != "" {
		if d.Ns, err = parseList("n", f.n, func(text string) (int64, error) { return parseWhole(text, math.MaxInt32) }); err != nil {
			return err
		}
	}
	if f.eps != "" {
		if d.Epsilons, err = parseList("eps", f.eps, schema.ParseNumber); err != nil {
			return err
		}
	}
	if f.p == "" {
		return nil
	}
	list, err := parseList("p", f.p, func(text string) (int64, error) { return parseWhole(text, maxPlanned) })
	d.Ps = nil
	for _, p := range list {
		d.Ps = append(d.Ps, int(p))
	}
	return err
}

// parseWhole parses a whole number from 1 to most.
func parseWhole(text string, most float64) (int64, error) {
	v, err := schema.ParseNumber(text)
	if err == nil && (v != math.Trunc(v) || v < 1 || v > most) {
		err = fmt.Errorf("a whole number from 1 to %v is needed", most)
	}
	return int64(v), err
}

// columns takes --schema, --formula and --prior.
func (f *calibrateFlags) columns(_ *cobra.Command, d *calibration.Design) error {
	switch {
	case f.population != "":
	case f.schema == "" && f.formula != "":
		return usagef("--formula names columns of a schema: give --schema FILE")
	case f.schema != "" && f.p != "":
		return usagef("--p and --schema exclude each other: a schema has its covariates")
	case f.schema != "":
		columns := planFlags{schema: f.schema, formula: f.formula}
		var err error
		if d.Columns, err = columns.design(); err != nil {
			return err
		}
		d.Ps = nil
	}
	return f.statePrior(d)
}

// statePrior takes the flags of the prior. A file alone is read for each design of the study;
// words are of one.
func (f *calibrateFlags) statePrior(d *calibration.Design) error {
	if err := f.priorFlags.parse(); err != nil {
		return err
	}
	switch {
	case f.shrink:
		return usagef("--shrink is of the default prior, which depends on the release: state a prior file")
	case f.stated != nil && f.population != "":
		return usagef("a prior in words is the default with changes, which depends on the release: --population takes a prior file")
	case f.stated == nil && f.prior == "":
		return nil
	case f.stated == nil:
		text, err := os.ReadFile(f.prior)
		if err != nil {
			return usagef("--prior: %w", err)
		}
		if !json.Valid(bytes.TrimSpace(text)) {
			return usagef("--prior %s: not JSON", f.prior)
		}
		d.Prior = calibration.PriorSpec{File: bytes.TrimSpace(text)}
		return nil
	}
	columns := d.Columns
	if columns == nil && len(d.Ps) != 1 {
		return usagef("a prior in words is of one design: give one --p, or --schema FILE")
	}
	if columns == nil {
		columns = dpreg.UnitDesign(d.Ps[0])
	}
	prior, err := f.over(unscaledBox(columns), columns, "")
	if err != nil {
		return usage(err)
	}
	text, err := json.Marshal(prior)
	d.Prior = calibration.PriorSpec{File: text}
	return err
}

// unscaledBox is model.BoxPrior with coefficients that have the same sds, but not in proportion
// to σ: so that words can state one.
func unscaledBox(d *schema.Design) *model.Prior {
	prior := model.BoxPrior(model.Shape{P: len(d.Covariates), Intercept: d.Intercept})
	theta := prior.Theta
	for i := range theta.Precision {
		theta.Precision[i] *= (theta.Shape - 1) / theta.Scale
	}
	prior.Unscaled = true
	return prior
}

// simulation takes --data, --x, --delta, --trials and --seed.
func (f *calibrateFlags) simulation(cmd *cobra.Command, d *calibration.Design) (err error) {
	if f.data != "" {
		if err := choose("data", f.data, []string{string(calibration.Unclamped), string(calibration.Clamped)}); err != nil {
			return err
		}
		d.Data = calibration.Data(f.data)
	}
	if f.x != "" {
		d.X = calibration.XLaw(f.x)
	}
	if d.Delta, err = schema.ParseNumber(f.delta); err != nil {
		return usagef("--delta %q: %w", f.delta, err)
	}
	if cmd.Flags().Changed("trials") {
		d.Trials = f.trials
	}
	d.Seed = f.seed
	return nil
}

// parseShard parses --shard, which has no pictures yet.
func (f *calibrateFlags) parseShard() (calibration.Shard, error) {
	if f.shard != "" && (f.plots || f.page != "") {
		return calibration.Shard{}, usagef("a shard has no result yet: give --plots and --report to `dpreg calibrate merge`")
	}
	return parseShard(f.shard, f.save)
}

// plotsOf is where the pictures of a study are.
func plotsOf(dir string) string { return filepath.Join(dir, "plots") }
