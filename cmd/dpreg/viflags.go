package main

import (
	"math"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
)

// The models of dpreg vi.
const (
	viLinear       = "linear"
	viLogistic     = "logistic"
	viHierarchical = "hierarchical"
)

// averaged is the share of the steps, the last ones, over which the law is averaged.
const averaged = 0.5

// viFlags are the flags of vi.
type viFlags struct {
	releaseFlags

	model, group                      string
	rate, learningRate, clip, priorSD float64
	level                             float64
	batch, steps, draws               int
	seed                              uint64
	format, units, save, plot         string
	nonPrivate, holdsData             bool
}

func (f *viFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.model, "model", viLogistic, "`NAME`: linear, logistic, or hierarchical: logistic with coefficients for each --group")
	fs.StringVar(&f.group, "group", "", "column of categories, `NAME`, of --model hierarchical")
	f.registerShared(cmd)
	fs.StringVar(&f.epsilon, "eps", "", "privacy budget ε of the whole run, a `NUMBER` above 0")
	fs.StringVar(&f.neighbours, "neighbours", string(release.ReplaceOne), "`NAME`: which data sets must not be told apart: replace-one, with n public, or add-remove, with n secret")
	fs.Int64Var(&f.releaseFlags.rows, "rows", 0, "about how many rows there are, a public `NUMBER`: for --batch with add-remove")
	fs.Float64Var(&f.priorSD, "prior-sd", 2.5, "prior standard deviation of coefficients in scaled units, a `NUMBER`; of linear regression, in residual standard deviations")
	fs.Float64Var(&f.rate, "rate", 0.02, "share of the rows in a batch, a `NUMBER` up to 1")
	fs.IntVar(&f.batch, "batch", 0, "in place of --rate: `NUMBER` of rows that a batch has on average")
	fs.IntVar(&f.steps, "steps", 2000, "`NUMBER` of steps")
	fs.Float64Var(&f.clip, "clip", 0, "largest norm of a row's gradient, a `NUMBER`; longer ones are shortened to it (default: the length of the longest row that bounds allow, which clips nothing; of linear regression three times it)")
	fs.Float64Var(&f.learningRate, "learning-rate", 0.05, "size of steps, a `NUMBER`")
	fs.StringVar(&f.plot, "plot", "", "draw the centre of the fitted law over the steps, in --units, and without privacy the ELBO, into this `FILE` (.svg, .png)")
	fs.BoolVar(&f.nonPrivate, "non-private", false, "add no noise and clip nothing: for comparison")
	fs.BoolVar(&f.holdsData, "i-hold-the-data", false, "for --non-private: you may see the rows, and the output stays with you")
	for flag, words := range f.choices() {
		oneOf(cmd, flag, words...)
	}
}

// registerShared registers what vi and pvi share.
func (f *viFlags) registerShared(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.registerCells(cmd)
	fs.StringVar(&f.delta, "delta", "", "δ, a `NUMBER` far below 1/n, such as 1e-6")
	fs.StringVar(&f.ledger, "ledger", "", "charge the run to this ledger, a `FILE` of dpreg ledger init")
	fs.StringArrayVar(&f.bounds, "bounds", nil, "public bounds of a column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file")
	fs.StringVar(&f.schema, "schema", "", "Frictionless Table Schema `FILE` with bounds and levels (default: data.schema.json beside data.csv)")
	fs.StringVar(&f.formula, "formula", "", formulaUsage+"default: the last column on all others")
	fs.IntVar(&f.draws, "draws", 1000, "`NUMBER` of draws of each of four chains from the fitted law")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of what is public, a `NUMBER`; batches and noise cannot be seeded")
	fs.StringVar(&f.format, "format", "table", "`NAME` of the format on stdout: table, json or csv")
	fs.StringVar(&f.units, "units", "original", "`NAME`: original, the data's units, or scaled")
	fs.Float64Var(&f.level, "level", posterior.DefaultLevel, "probability of the intervals, a `NUMBER` between 0 and 1")
	fs.StringVar(&f.save, "save", "", "write the draws (Stan CSV, a file a chain) and summary.json to this `DIR`")
}

func (f *viFlags) choices() map[string][]string {
	return map[string][]string{
		"model":      {viLinear, viLogistic, viHierarchical},
		"neighbours": {string(release.ReplaceOne), string(release.AddRemove)},
		"format":     {"table", "json", "csv"},
		"units":      {"original", "scaled"},
	}
}

// check checks what needs no file.
func (f *viFlags) check(cmd *cobra.Command) error {
	got := map[string]string{"model": f.model, "neighbours": f.neighbours, "format": f.format, "units": f.units}
	for flag, words := range f.choices() {
		if err := choose(flag, got[flag], words); err != nil {
			return err
		}
	}
	changed := cmd.Flags().Changed
	positive := func(x float64) bool { return x > 0 && x <= math.MaxFloat64 }
	switch {
	case changed("rate") && changed("batch"):
		return usagef("--rate and --batch exclude each other: both say how large batches are")
	case changed("batch") && f.batch < 1:
		return usagef("--batch %d: at least 1", f.batch)
	case !(f.rate >= accounting.MinRate && f.rate <= 1):
		return usagef("--rate %v: above 0, and at most 1", f.rate)
	case f.steps < 1 || f.steps > accounting.MaxCount:
		return usagef("--steps %d: from 1 to %d", f.steps, accounting.MaxCount)
	case f.releaseFlags.rows < 0:
		return usagef("--rows %d: at least 1", f.releaseFlags.rows)
	case f.neighbours == string(release.AddRemove) && f.releaseFlags.rows == 0 && changed("batch"):
		return usagef("with --neighbours add-remove the number of rows is secret: use --rate, or say with --rows about how many there are by public knowledge")
	case !positive(f.learningRate) || !positive(f.priorSD) || changed("clip") && !positive(f.clip):
		return usagef("--learning-rate, --prior-sd and --clip must be positive numbers")
	case f.draws < 1 || f.draws > maxDraws:
		return usagef("--draws %d: from 1 to %d", f.draws, maxDraws)
	case !(f.level > 0 && f.level < 1):
		return usagef("--level %v: it must lie between 0 and 1, as 0.95 does", f.level)
	case f.model == viHierarchical && f.group == "":
		return usagef("--model %s needs --group, a column of categories", viHierarchical)
	case f.model != viHierarchical && f.group != "":
		return usagef("--group is for --model %s", viHierarchical)
	case f.nonPrivate && (changed("eps") || changed("delta") || changed("ledger")):
		return usagef("--non-private spends nothing: leave out --eps, --delta and --ledger")
	case f.nonPrivate && !f.holdsData:
		return refusef("--non-private prints what the rows say, without noise: nothing of it is private. If you may see the rows and keep the output to yourself, say --i-hold-the-data")
	case f.holdsData && !f.nonPrivate:
		return usagef("--i-hold-the-data is for --non-private, which was not asked for")
	}
	return checkPlotFile(f.plot)
}

// options turns flags into those of vi.Run, but for the size of batches.
func (f *viFlags) options() (vi.Options, error) {
	o := vi.Options{Steps: f.steps, Average: averaged, Seed: f.seed, Rate: f.rate, LearningRate: f.learningRate}
	if f.neighbours == string(release.ReplaceOne) {
		o.Scheme = accounting.PoissonReplaceOne
	}
	if f.plot != "" {
		o.Trace = 400
	}
	if f.nonPrivate {
		return o, nil
	}
	epsilon, err := f.parseEpsilon()
	if err != nil {
		return o, err
	}
	if f.delta == "" {
		return o, usagef("--delta is missing: noise on gradients is Gaussian, which needs a δ far below 1/n, as in --delta 1e-6")
	}
	delta, err := f.parseDelta()
	if err != nil {
		return o, err
	}
	if delta < accounting.MinSampledDelta {
		return o, usagef("--delta %s: it must be at least %v", f.delta, accounting.MinSampledDelta)
	}
	o.Privacy = &vi.Privacy{Epsilon: epsilon, Delta: delta, Entropy: mechanisms.OS()}
	return o, nil
}

// size completes options by the public number of records, 0 where there is none.
func (f *viFlags) size(o *vi.Options, records int64) error {
	if f.batch > 0 {
		o.Rate = float64(f.batch) / float64(records)
		if o.Rate > 1 {
			return usagef("--batch %d: there are %d rows", f.batch, records)
		}
	}
	return nil
}
