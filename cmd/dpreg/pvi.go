package main

import (
	"context"
	commas "encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

const pviHelp = `Fit one regression to the rows of several clients, a file each, by partitioned
variational inference: clients keep their rows, and a server keeps a normal law made of
a factor of each client. In every round each client updates its factor by some noisy
steps. Each client's rows are protected by (ε, δ)-differential privacy, against the
server and the other clients, and exchanging any one row of a client is what is hidden.
How many rows each has is public. Columns need public bounds, or levels, the same for all
(--schema). The files are on this machine: to run over a network, Go programs use the
package vi/pvi. Every run spends ε anew; --ledger charges it before the first step.

With --preset, repeat a published study:

  workshop-A to -D    logistic regression on the Adult data (Sharma et al. 2019): PVI,
                      global VI and DP-PVI over ten clients of unequal sizes and classes
  thesis-dataset      linear regression, clients protected as a whole, under three ways
                      to share the noise, of which the published one keeps no promise
  thesis-datapoint    linear regression, records protected one by one

The data of workshop presets is a directory with UCI's adult.data and adult.test. All
noise of presets is simulated from --seed: this measures methods, and protects nobody.

--accounting pld draws batches by Poisson sampling, counts by privacy-loss distributions
and stops each client before its ε would be passed. --accounting paper draws batches of
fixed size, counts by the moments accountant as if they were Poisson's, and tests before
an update, so that the last one passes ε, as in the paper.

docs/pvi.md has the guarantees, docs/baselines.md what the presets give.`

// pviFlags are the flags of pvi.
type pviFlags struct {
	preset, methods, eps, accounting, format string
	seeds                                    int
	seed, split                              uint64
	rho, kappa                               float64
	own                                      pviRows // of files
}

func newPVI() *cobra.Command {
	var f pviFlags
	cmd := &cobra.Command{
		Use:   "pvi --eps NUMBER --delta NUMBER CLIENT.csv CLIENT.csv... | --preset NAME [DIRECTORY]",
		Short: "Variational inference over clients that keep their rows; published studies of it",
		Long:  pviHelp,
		Example: `  dpreg pvi --eps 1 --delta 1e-5 --schema all.schema.json --formula 'income ~ .' north.csv south.csv
  dpreg pvi --preset workshop-A adult/
  dpreg pvi --preset workshop-B --method dp-pvi --eps 0.5,1 --accounting paper adult/
  dpreg pvi --preset thesis-dataset --seeds 100`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.preset == "" && len(args) > 0 {
				return f.runRows(cmd, args)
			}
			study, err := f.study(cmd, args)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), study)
		},
	}
	f.register(cmd)
	return cmd
}

var pviPresets = []string{"workshop-A", "workshop-B", "workshop-C", "workshop-D", "thesis-dataset", "thesis-datapoint"}

func (f *pviFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.preset, "preset", "", "`NAME` of the study: "+strings.Join(pviPresets, ", "))
	fs.StringVar(&f.methods, "method", "pvi,global-vi,dp-pvi", "workshop: `LIST` of methods")
	fs.StringVar(&f.eps, "eps", "0.5,0.75,1", "files: budget ε of each client, a `NUMBER` above 0; workshop: a list of them, for dp-pvi")
	fs.StringVar(&f.accounting, "accounting", "pld", "workshop: `NAME` of the accounting of dp-pvi, pld or paper")
	fs.Float64Var(&f.rho, "rho", 0, "workshop: ρ, how unequal clients' sizes are, a `NUMBER` in [0, 1) in place of the preset's")
	fs.Float64Var(&f.kappa, "kappa", 0, "workshop: κ, how unequal their classes are, a `NUMBER` in place of the preset's")
	fs.IntVar(&f.seeds, "seeds", 5, "`NUMBER` of runs of each setting")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the first run, a `NUMBER`; the next has the next")
	fs.Uint64Var(&f.split, "split", 0, "workshop: seed of the permutation that divides rows into those to train and to test, a `NUMBER`, for all runs")
	fs.StringVar(&f.format, "format", "table", "`NAME` of the format on stdout: table, or csv; of presets a line a run; of files json, too")
	f.own.register(cmd)
	oneOf(cmd, "preset", pviPresets...)
	oneOf(cmd, "accounting", "pld", "paper")
	oneOf(cmd, "format", "table", "json", "csv")
}

// study checks the flags and finds the preset's settings.
func (f *pviFlags) study(cmd *cobra.Command, args []string) (*pviStudy, error) {
	if f.preset == "" {
		return nil, usagef("--preset is missing, or the files of two clients or more: presets are %s", strings.Join(pviPresets, ", "))
	}
	for _, flag := range pviRowsFlags {
		if cmd.Flags().Changed(flag) {
			return nil, usagef("--%s is for files of clients, without --preset, which fixes what was published", flag)
		}
	}
	for flag, words := range map[string][]string{"preset": pviPresets, "accounting": {"pld", "paper"}, "format": {"table", "csv"}} {
		if err := choose(flag, cmd.Flag(flag).Value.String(), words); err != nil {
			return nil, err
		}
	}
	if f.seeds < 1 || f.seeds > maxReleases {
		return nil, usagef("--seeds %d: from 1 to %d", f.seeds, maxReleases)
	}
	if distribution, ok := strings.CutPrefix(f.preset, "workshop-"); ok {
		return f.workshop(cmd, distribution, args)
	}
	for _, flag := range []string{"method", "eps", "accounting", "rho", "kappa", "split"} {
		if cmd.Flags().Changed(flag) {
			return nil, usagef("--%s is for workshop presets", flag)
		}
	}
	if err := noFile(cmd, args); err != nil {
		return nil, err
	}
	if f.preset == "thesis-dataset" {
		return thesisDataset(), nil
	}
	return thesisDatapoint(), nil
}

// runRows fits files.
func (f *pviFlags) runRows(cmd *cobra.Command, files []string) error {
	for _, flag := range []string{"method", "accounting", "rho", "kappa", "split", "seeds"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s is for --preset", flag)
		}
	}
	if len(files) < 2 {
		return usagef("%s is one client: dpreg vi is for that; give a file for each client, or --preset", files[0])
	}
	f.own.seed, f.own.format = f.seed, f.format
	if cmd.Flags().Changed("eps") {
		f.own.epsilon = f.eps
	}
	if err := f.own.checkRows(cmd); err != nil {
		return err
	}
	return f.own.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), files)
}

// pviStudy is settings, each of which is run with every seed.
type pviStudy struct {
	intro    string
	settings []string // names of what tells settings apart
	measures []string // names of what a run gives
	arms     []pviArm
	// header and summary are of the table: what is shown of all runs of a setting.
	header  []string
	summary func(arm int, runs [][]float64) []string
}

type pviArm struct {
	values []string // of settings
	run    func(ctx context.Context, seed uint64) ([]float64, error)
}

func (f *pviFlags) run(ctx context.Context, stdout, stderr io.Writer, s *pviStudy) error {
	bar := countingBar(stderr, "runs ", len(s.arms)*f.seeds)
	runs := make([][][]float64, len(s.arms))
	var err error
	for i, arm := range s.arms {
		for k := range f.seeds {
			var measured []float64
			if measured, err = arm.run(ctx, f.seed+uint64(k)); err != nil {
				bar.finish()
				return usage(err)
			}
			runs[i] = append(runs[i], measured)
			bar.update(i*f.seeds+k+1, 0)
		}
	}
	bar.finish()
	if f.format == "csv" {
		return s.writeCSV(stdout, f.seed, runs)
	}
	return s.writeTable(stdout, runs)
}

func (s *pviStudy) writeCSV(w io.Writer, seed uint64, runs [][][]float64) error {
	out := commas.NewWriter(w)
	rows := [][]string{append(append(s.settings[:len(s.settings):len(s.settings)], "seed"), s.measures...)}
	for i, arm := range s.arms {
		for k, measured := range runs[i] {
			row := append(arm.values[:len(arm.values):len(arm.values)], strconv.FormatUint(seed+uint64(k), 10))
			for _, v := range measured {
				row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
			}
			rows = append(rows, row)
		}
	}
	return out.WriteAll(rows)
}

func (s *pviStudy) writeTable(w io.Writer, runs [][][]float64) error {
	if _, err := fmt.Fprintf(w, "%s\n\n", s.intro); err != nil {
		return err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.Join(append(s.settings[:len(s.settings):len(s.settings)], s.header...), "\t"))
	for i, arm := range s.arms {
		row := append(arm.values[:len(arm.values):len(arm.values)], s.summary(i, runs[i])...)
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

// column is one measure of all runs.
func column(runs [][]float64, measure int) []float64 {
	values := make([]float64, len(runs))
	for k := range runs {
		values[k] = runs[k][measure]
	}
	return values
}
