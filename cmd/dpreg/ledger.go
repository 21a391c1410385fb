package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"math/big"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
)

const ledgerHelp = `Keep the privacy budget of a data set: a total (ε, δ), and all that was charged to
it. A ledger is one file. With --ledger, release, fit, vi and pvi charge what they
spend to it before they draw noise, and refuse (exit 3) what it has no room for. Any
number of them may do so at once.

A ledger counts what was charged to it, and knows of no other release.`

const ledgerInitHelp = `Make a ledger: a file with the total (ε, δ) of a data set, of which nothing is spent.
--data names the data set for whoever reads the ledger; nothing is read from it, and
nothing of its rows comes into the ledger. All releases have the one relation of
--neighbours.

What has room is decided by a filter: it holds however later releases are chosen
after earlier ones were seen (docs/ledger.md has the proof). The sum of ε and of δ
always decides where noise is Laplace only. Gaussian releases count together,
which allows many more of them than the sum does. The first Gaussian release settles
how δ is shared: half for the sum, half for the count; or, where it takes more than
half of δ by itself, all for the count, after which only small Laplace releases have
room. A run of vi or pvi counts as a Gaussian release, and its δ is the sum's. --filter
sum takes the sum alone, in any order and mixture.`

const ledgerShowHelp = `Show what was charged to a ledger, what each release used of the budget, and what is
left. Used is the part that is used, by the sum of (ε, δ) or by the count of Gaussian
noise, whichever is the lesser and decides; the sums of ε and δ are the plain ones.
A release that is not known to have been written was charged by a run that failed or
was killed, or that still runs: nobody can tell what was seen of it, so that its
charge stays.`

func newLedger() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Keep the privacy budget of a data set over many releases",
		Long:  ledgerHelp,
		Example: `  dpreg ledger init budget.db --data pums.csv --eps 3 --delta 1e-5
  dpreg release pums.csv --eps 0.5 --delta 1e-6 --ledger budget.db
  dpreg ledger show budget.db --plot budget.svg`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("ledger %q: init or show", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newLedgerInit(), newLedgerShow())
	return cmd
}

type ledgerInit struct {
	data, filter string
	total        releaseFlags // of which privacy is used
}

func newLedgerInit() *cobra.Command {
	var c ledgerInit
	cmd := &cobra.Command{
		Use:     "init --data NAME --eps NUMBER LEDGER.db",
		Short:   "Make a ledger with a total budget",
		Long:    ledgerInitHelp,
		Example: "  dpreg ledger init budget.db --data pums.csv --eps 3 --delta 1e-5",
		Args:    oneFile("a file to make"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	fs := cmd.Flags()
	fs.StringVar(&c.data, "data", "", "public `NAME` of the data set, such as its file")
	fs.StringVar(&c.total.epsilon, "eps", "", "total ε of all releases, a `NUMBER` above 0")
	fs.StringVar(&c.total.delta, "delta", "", "total δ, a `NUMBER` far below 1/n (default: none, for Laplace noise only)")
	fs.StringVar(&c.total.neighbours, "neighbours", string(release.ReplaceOne), "`NAME` of the relation that all releases have: replace-one or add-remove")
	fs.StringVar(&c.filter, "filter", string(ledger.Auto), "`NAME` of what decides: auto, the sum of (ε, δ) or the count of Gaussian noise; or sum")
	oneOf(cmd, "neighbours", string(release.ReplaceOne), string(release.AddRemove))
	oneOf(cmd, "filter", string(ledger.Auto), string(ledger.Sum))
	return cmd
}

func (c *ledgerInit) run(cmd *cobra.Command, path string) error {
	b, err := c.budget()
	if err != nil {
		return err
	}
	err = ledger.Create(cmd.Context(), path, b)
	switch {
	case errors.Is(err, fs.ErrExist):
		return refusef("%s exists: a ledger is never overwritten, since what it counts stays spent; see dpreg ledger show %s", path, shellWord(path))
	case err != nil:
		return custody.LedgerError(err)
	}
	note(cmd.ErrOrStderr(), "ledger of %s made: next, dpreg release --ledger %s", b.Data, shellWord(path))
	return nil
}

func (c *ledgerInit) budget() (b ledger.Budget, err error) {
	if strings.TrimSpace(c.data) == "" {
		return b, usagef("--data is missing: name the data set that the budget is of, as in --data pums.csv")
	}
	if strings.ContainsFunc(c.data, func(r rune) bool { return r < ' ' }) {
		return b, usagef("--data %q: a name has no line breaks or control characters", c.data)
	}
	b.Data = c.data
	if _, err = c.total.parseEpsilon(); err != nil {
		return b, err
	}
	if _, err = c.total.parseDelta(); err != nil {
		return b, err
	}
	neighbours, err := c.total.parseNeighbours()
	if err != nil {
		return b, err
	}
	b.Neighbours = string(neighbours)
	b.Epsilon, b.Delta = asWritten(c.total.epsilon), new(big.Rat)
	if c.total.delta != "" {
		b.Delta = asWritten(c.total.delta)
	}
	b.Filter = ledger.Filter(strings.ToLower(c.filter))
	if b.Filter != ledger.Auto && b.Filter != ledger.Sum {
		return b, usagef("--filter %q: %s or %s", c.filter, ledger.Auto, ledger.Sum)
	}
	return b, nil
}

// asWritten is the value of a number that schema.ParseNumber reads, to its last digit.
func asWritten(text string) *big.Rat {
	x, _ := new(big.Rat).SetString(strings.TrimSpace(text))
	return x
}

func newLedgerShow() *cobra.Command {
	var plot string
	cmd := &cobra.Command{
		Use:     "show LEDGER.db",
		Short:   "Show what was charged to a ledger, and what is left",
		Long:    ledgerShowHelp,
		Example: "  dpreg ledger show budget.db --plot budget.svg",
		Args:    oneFile("a ledger"),
		RunE:    func(cmd *cobra.Command, args []string) error { return showLedger(cmd, args[0], plot) },
	}
	cmd.Flags().StringVar(&plot, "plot", "", "draw what was used after each release into this `FILE`, .svg or .png")
	return cmd
}

func showLedger(cmd *cobra.Command, path, plot string) error {
	if err := (inputs{path}).spare(plot); plot != "" && err != nil {
		return within("--plot", err)
	}
	if err := checkPlotFile(plot); err != nil {
		return err
	}
	l, err := custody.OpenLedger(cmd.Context(), sayTo(cmd.ErrOrStderr()), path)
	if err != nil {
		return err
	}
	defer l.Close()
	h, err := l.History(cmd.Context())
	if err != nil {
		return custody.LedgerError(err)
	}
	if plot != "" {
		err := writeFile(plot, public, func(w io.Writer) error { return report.PlotLedger(w, h, plotFormat(plot)) })
		if err != nil {
			return err
		}
		note(cmd.ErrOrStderr(), "plot written to %s", plot)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	if err := report.Ledger(out, h); err != nil {
		return err
	}
	return out.Flush()
}

// runCharge is what a run of noisy sums over samples costs: the (ε, δ) asked for, and what
// the run is worth as one Gaussian release. It is named by a path.
func runCharge(f *releaseFlags, name string, run accounting.Training) (c ledger.Charge, err error) {
	delta, err := f.parseDelta()
	if err != nil {
		return c, err
	}
	mu, err := run.AsGaussian(delta)
	if err != nil {
		return c, err
	}
	if name, err = filepath.Abs(name); err != nil {
		return c, err
	}
	return ledger.Charge{
		Epsilon: asWritten(f.epsilon), Delta: asWritten(f.delta), Noise: ledger.Sampled,
		Sensitivity: mu, Scale: 1, Neighbours: f.neighbours, Release: name,
	}, nil
}
