package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/schema"
)

const calibrateHelp = `Ask whether a method is right, at this n and ε: draw parameters from the prior,
rows from the parameters, noise, and a posterior; look where in it the truth lies.
If and only if posteriors are right, its rank is uniform, and 90 % intervals hold it
in 90 % of the trials.

--preset fig3 and fig4 are the studies of Figures 3 and 4 of Bernstein & Sheldon
(2019); any flag changes a part of them. A study of one's own takes --n and --eps.
Every combination of --n, --eps, --p, --method, --kernel and --sensitivity is a cell
of the table.

--data unclamped: rows as the model has them, even outside the bounds, as in the
paper: ranks have to be uniform. --data clamped: rows as a release has them; what
clamping costs shows in the coverage. --x: covariates that are not normal.

The prior is "box", conjugate and for columns that fill their bounds, with what
--prior states in its place. The default prior of infer depends on the release:
--population tests it.

--population FILE: truths that the prior has no part in. Rows are drawn with
replacement from those of a table, coded and clamped as a release's, and the truth is
least squares on all of them. Coverage of the coefficients stands beside that of least
squares on the same rows without noise. What comes of it was computed from the rows
without any mechanism: NOTHING OF IT IS PRIVATE. It is for those who may see the rows,
who say so by --i-hold-the-data.

With --save DIR every finished trial is kept: stopped in whatever way and started
again by the same command, or by --save DIR alone, a study goes on. DIR then holds
study.json, journal, results.csv, summary.csv, summary.json and timing.csv. Shards
of a study, by --shard, run on several machines: dpreg calibrate merge puts them
together. Results do not depend on cores, shards or interruptions. --report writes
all of a result as one page.

Methods exact and gibbs run until --ess; the kernel plain of gibbs-ss- runs as the
paper's code does, 5000 + 2000 sweeps of one chain, unless --warmup, --draws or
--ess is given.`

func newCalibrate() *cobra.Command {
	f := calibrateFlags{studyFlags: studyFlags{studyOutput: studyOutput{command: calibrates}}}
	cmd := &cobra.Command{
		Use:   "calibrate (--preset NAME | --n N --eps EPS [--population FILE])",
		Short: "Ask whether a method's posteriors are right, by simulation",
		Long:  calibrateHelp,
		Example: `  dpreg calibrate --n 200 --eps 0.5 --trials 100
  dpreg calibrate --preset fig3 --save fig3 --plots
  dpreg calibrate --preset fig3 --kernel plain --save plain
  dpreg calibrate --n 1000 --eps 1 --p 3 --data clamped --x binary --save binary
  dpreg calibrate --population pums.csv --formula 'income ~ educ' --n 1000 --eps 0.3,1,3 --save pums --i-hold-the-data
  dpreg calibrate --preset fig3 --save part1 --shard 1/2
  dpreg calibrate merge --save whole part1 part2`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("calibrate takes no file but by a flag: %q (is a blank in a list?)", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, f.design)
		},
	}
	f.register(cmd)
	return cmd
}

// calibrateFlags are the flags of calibrate.
type calibrateFlags struct {
	studyFlags
	priorFlags
	preset, x                   string
	method, kernel, sensitivity string
	chains, warmup, draws       int
	ess                         float64
	modelClamping               bool
}

// presets are the studies that have names.
var presets = map[string]func() *calibration.Design{"fig3": calibration.Fig3, "fig4": calibration.Fig4}

// ownTrials is the number of trials of a study of one's own.
const ownTrials = 100

func (f *calibrateFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.preset, "preset", "", "`NAME` of a study: fig3 or fig4")
	fs.StringVar(&f.file, "population", "", "draw the rows with replacement from those of this `FILE`, coded and clamped; the truth is least squares on all of them")
	fs.StringVar(&f.method, "method", "", "methods, a `LIST` of "+strings.Join(calibration.MethodNames(), ", ")+" (default: "+strings.Join(calibration.PaperMethods(), ", ")+"; of a population: "+calibration.PopulationMethod+")")
	fs.StringVar(&f.kernel, "kernel", "", "kernels of the methods gibbs-ss-, a `LIST` of exact, plain (default exact; presets: both)")
	fs.StringVar(&f.sensitivity, "sensitivity", "", "what noise is calibrated to, a `LIST` of exact, paper (default exact; presets: both)")
	fs.BoolVar(&f.modelClamping, "model-clamping", false, "let mcmc-ind infer with the law of clamped rows; with --data clamped")
	fs.StringVar(&f.x, "x", "", "`NAME` of the law of the covariates: normal (default), binary or skewed")
	f.priorFlags.register(cmd)
	fs.IntVar(&f.trials, "trials", 0, fmt.Sprintf("`NUMBER` of trials of each cell (default %d; fig3: 300, fig4: 100)", ownTrials))
	fs.IntVar(&f.chains, "chains", 0, "`NUMBER` of chains (default 2; of a population: 4; kernel plain: 1)")
	fs.IntVar(&f.warmup, "warmup", 0, "`NUMBER` of warm-up iterations of each chain (default 1000; kernel plain: 5000)")
	fs.IntVar(&f.draws, "draws", 0, "`NUMBER` of draws kept of each chain (default: as many as --ess needs; of a population: 500; kernel plain: 2000)")
	fs.Float64Var(&f.ess, "ess", 0, fmt.Sprintf("sample until the effective sample size of every parameter is this `NUMBER` (default %d)", calibration.DefaultESS))
	f.studyFlags.register(cmd, 1)
	oneOf(cmd, "preset", "fig3", "fig4")
	oneOf(cmd, "x", string(calibration.NormalX), string(calibration.BinaryX), string(calibration.SkewedX))
}

// design is a preset or a study of one's own, with the changes that flags make; and the rows of
// the population.
func (f *calibrateFlags) design(stderr io.Writer, cmd *cobra.Command) (*calibration.Design, *calibration.Rows, error) {
	d, err := f.base()
	if err != nil {
		return nil, nil, err
	}
	rows, err := f.draw(stderr, cmd, d)
	if err != nil {
		return nil, nil, err
	}
	for _, change := range []func(*calibration.Design) error{f.grid, f.columns, f.statePrior, f.arms} {
		if err := change(d); err != nil {
			return nil, nil, err
		}
	}
	if f.x != "" {
		d.X = calibration.XLaw(f.x)
	}
	if cmd.Flags().Changed("trials") {
		d.Trials = f.trials
	}
	d.Seed = f.seed
	return d, rows, f.runs(cmd, d)
}

// draw takes --population: its columns and its rows, nil where there is none.
func (f *calibrateFlags) draw(stderr io.Writer, cmd *cobra.Command, d *calibration.Design) (*calibration.Rows, error) {
	err := f.onlyFor(cmd, "by --population", []string{"bounds", "missing", "na", "i-hold-the-data"}, []string{"preset", "p", "data", "x"})
	if err != nil || f.file == "" {
		return nil, err
	}
	of, rows, err := f.table(stderr)
	if err != nil {
		return nil, err
	}
	d.Prior = calibration.PriorSpec{Name: calibration.DefaultPrior}
	d.Data, d.X, d.Ps, d.Population, d.Arms = calibration.Resampled, "", nil, of, calibration.PopulationArms([]string{calibration.PopulationMethod}, exactKernel, exactNoise)
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

// columns takes --schema and --formula.
func (f *calibrateFlags) columns(d *calibration.Design) (err error) {
	schema, formula := f.reading.schema, f.reading.formula
	switch {
	case f.file != "":
	case schema == "" && formula != "":
		return usagef("--formula names columns of a schema: give --schema FILE")
	case schema != "" && f.p != "":
		return usagef("--p and --schema exclude each other: a schema has its covariates")
	case schema != "":
		columns := planFlags{schema: schema, formula: formula}
		d.Columns, err = columns.design()
		d.Ps = nil
	}
	return err
}

// statePrior takes the flags of the prior. A file alone is read for each design of the study;
// words are of one.
func (f *calibrateFlags) statePrior(d *calibration.Design) error {
	if err := f.priorFlags.parse(); err != nil {
		return err
	}
	f.reads = f.prior
	switch {
	case f.shrink:
		return usagef("--shrink is of the default prior, which depends on the release: state a prior file")
	case f.stated != nil && f.file != "":
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

// modelsClamping is the method that can.
var modelsClamping = individual.Method{}.Name()

// arms takes --method, --kernel and --sensitivity.
func (f *calibrateFlags) arms(d *calibration.Design) error {
	if f.method == "" && f.kernel == "" && f.sensitivity == "" {
		return nil
	}
	var methods, kernels, sensitivities []string
	for _, a := range d.Arms {
		methods, kernels, sensitivities = addNew(methods, a.Method), addNew(kernels, a.Kernel), addNew(sensitivities, a.Sensitivity)
	}
	var err error
	if f.method != "" { // a design says itself what it may be: `choose` would send non-private to fit
		methods = splitWords(f.method)
	}
	if kernels == nil { // no method has a choice yet
		kernels = exactKernel
	}
	if kernels, err = chooseList("kernel", f.kernel, []string{string(gibbs.Exact), string(gibbs.Plain)}, kernels); err != nil {
		return err
	}
	if sensitivities, err = chooseList("sensitivity", f.sensitivity, []string{calibration.ExactSensitivity, calibration.PaperSensitivity}, sensitivities); err != nil {
		return err
	}
	d.Arms = calibration.Arms(methods, kernels, sensitivities)
	if d.Population != nil {
		d.Arms = calibration.PopulationArms(methods, kernels, sensitivities)
	}
	return nil
}

// chooseList parses a list of some words.
func chooseList(flag, text string, words, otherwise []string) ([]string, error) {
	if text == "" {
		return otherwise, nil
	}
	list := splitWords(text)
	for _, word := range list {
		if err := choose(flag, word, words); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// splitWords are words between commas, each once.
func splitWords(text string) (list []string) {
	for word := range strings.SplitSeq(text, ",") {
		list = addNew(list, strings.TrimSpace(word))
	}
	return list
}

// addNew appends a word that is neither empty nor there.
func addNew(list []string, word string) []string {
	if word == "" || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}

// runs takes --chains, --warmup, --draws, --ess and --model-clamping.
func (f *calibrateFlags) runs(cmd *cobra.Command, d *calibration.Design) error {
	given := cmd.Flags().Changed
	if f.modelClamping && !slices.ContainsFunc(d.Arms, func(a calibration.Arm) bool { return a.Method == modelsClamping }) {
		return usagef("--model-clamping: %s alone can; give --method %s", modelsClamping, modelsClamping)
	}
	if given("draws") && given("ess") {
		return usagef("--draws and --ess exclude each other: one fixes the number of draws, the other finds it")
	}
	for i := range d.Arms {
		a := &d.Arms[i]
		a.ModelClamping = f.modelClamping && a.Method == modelsClamping
		if given("chains") {
			a.Chains = f.chains
		}
		if given("warmup") {
			a.Warmup = f.warmup
		}
		if given("draws") {
			a.Draws, a.ESS = f.draws, 0
		}
		if given("ess") {
			a.Draws, a.ESS = 0, f.ess
		}
		if a.Chains > maxChains || a.Warmup > maxDraws || a.Draws > maxDraws {
			return usagef("at most %d chains, and %d iterations of each, are possible", maxChains, maxDraws)
		}
	}
	return nil
}
