package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/calibration"
)

const compareHelp = `Put many methods to the same data at the same budget, and say how near each comes to
the posterior without privacy, whether its intervals hold what they should, what it
costs and how long it takes.

Given a table, each trial infers from random rows of it and predicts the others, the
same ones for all methods: coverage of predictive intervals and log scores. Without a
table, rows and their true coefficients are simulated (--n, --p): width and coverage
of intervals of the coefficients.

  non-private       the posterior given the rows: what privacy costs is seen against it
  naive             takes the noisy sums for exact ones
  gibbs-ss-*, mcmc-*  infer from the same release, and account for its noise
  dp-vi             variational inference on rows (dpreg vi)
  dp-pvi            variational inference by ten clients, each protecting its own rows
  adassp            AdaSSP, a point estimate: it has no intervals

Each method has its own documented settings, none chosen by looking at the rows
(docs/compare.md). A method that cannot serve says why, and the others go on.

This is a study. Its noise is simulated from --seed, and what it prints of a table was
computed from the rows without any mechanism: NOTHING OF IT IS PRIVATE. It is for those
who may see the rows, who say so by --i-hold-the-data.

With --save DIR every finished trial is kept: a study that was stopped goes on by the
same command. DIR then holds study.json, journal, results.csv, summary.csv,
summary.json and timing.csv. Shards, by --shard, are put together by dpreg compare merge.
Results do not depend on cores, shards or interruptions.`

// comparedClients are those of dp-pvi, who share the rows.
const comparedClients = 10

// compareFlags are the flags of compare.
type compareFlags struct {
	studyFlags
	methods []string
	test    float64
}

func newCompare() *cobra.Command {
	f := compareFlags{studyFlags: studyFlags{studyOutput: studyOutput{command: compares}}}
	cmd := &cobra.Command{
		Use:   "compare --eps LIST (DATA.csv | --n LIST)",
		Short: "Many methods on the same data at the same budget",
		Long:  compareHelp,
		Example: `  dpreg compare --eps 1 --delta 1e-6 --formula 'income ~ age + educ' --i-hold-the-data pums.csv
  dpreg compare --n 1000,10000 --p 2 --eps 0.3,1,3 --delta 1e-6 --save study --plot study.svg
  dpreg compare --n 1000 --eps 1 --method naive,mcmc-exact --trials 100
  dpreg compare merge --save whole part1 part2`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("compare takes one table, and %d were given (is a quotation mark missing around a formula?)", len(args))
			}
			return nil
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			f.file = args[0]
		}
		return f.run(cmd, f.design)
	}
	f.register(cmd)
	return cmd
}

func (f *compareFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Float64Var(&f.test, "test", 0.2, "share of the table's rows that is predicted, a `NUMBER` between 0 and 1")
	fs.StringSliceVar(&f.methods, "method", nil, "`NAME` of a method; repeatable, or a list: "+strings.Join(calibration.ComparedMethods(), ", ")+" (default: "+strings.Join(calibration.DefaultCompared(), ", ")+"; without --delta those whose noise is Gaussian are left out)")
	fs.IntVar(&f.trials, "trials", 20, "`NUMBER` of trials")
	fs.IntVar(&f.jobs, "jobs", 0, "`NUMBER` of trials to work on at once (default: the number of cores)")
	f.studyFlags.register(cmd, 2)
	oneOf(cmd, "method", calibration.ComparedMethods()...)
}

// design is what the flags say, and the rows of the table.
func (f *compareFlags) design(stderr io.Writer, cmd *cobra.Command) (*calibration.Design, *calibration.Rows, error) {
	if f.eps == "" {
		return nil, nil, usagef("--eps is missing: say how much privacy methods may spend, as in --eps 1 or --eps 0.3,1,3")
	}
	if err := f.onlyFor(cmd, "as in dpreg compare --eps 1 data.csv", []string{"bounds", "schema", "formula", "missing", "na", "test", "i-hold-the-data"}, []string{"n", "p", "data"}); err != nil {
		return nil, nil, err
	}
	d := &calibration.Design{
		Format: calibration.ComparisonFormat, Data: calibration.Unclamped, X: calibration.NormalX, Ps: []int{2},
		Prior: calibration.PriorSpec{Name: calibration.BoxPrior}, Clients: comparedClients, Trials: f.trials, Seed: f.seed,
	}
	if err := f.grid(d); err != nil {
		return nil, nil, err
	}
	if !cmd.Flags().Changed("method") {
		f.methods = calibration.DefaultCompared()
		if d.Delta == 0 {
			f.methods = slices.DeleteFunc(f.methods, calibration.NeedsDelta)
			note(stderr, "without --delta the methods whose noise is Gaussian are left out: %s, %s and %s", calibration.DPVI, calibration.DPPVI, calibration.AdaSSP)
		}
	}
	d.Arms = calibration.ComparisonArms(f.methods)
	if f.file == "" && f.n == "" {
		return nil, nil, usagef("say what to compare on: a table, as in dpreg compare --eps 1 data.csv, or --n for simulated rows, as in --n 1000")
	}
	if f.file == "" {
		return d, nil, nil
	}
	of, rows, err := f.table(stderr)
	if err != nil {
		return nil, nil, err
	}
	of.Test = f.test
	d.Data, d.X, d.Ps, d.Population = calibration.Split, "", nil, of
	return d, rows, nil
}
