package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
)

const checkHelp = `Check whether the release is one that the model makes: a posterior predictive
check, block by block. It infers first, as dpreg infer does, and costs no privacy.

From draws of the posterior, releases are replicated: statistics of normal rows
and noise of the release's own law. Each released sum is shown beside them, with p:
how often a replicate lies as far from what the parameters say as the release does
(for a block, by the sum of squares in its covariance).

A small p says that the model seldom makes such a release, even with parameters
fitted to it: x is not normal, values were clamped, or the prior is wrong. Such
p-values are not uniform under the model, but lie around 0.5. Calibrated therefore
ranks p among those of --calibrate K releases that the model made, each fitted
anew: that is near uniform. An intercept leaves the model free to match nearly any
sums; the last table, of how many normal rows would lie outside the public bounds,
then tells more than p (docs/checks.md).`

// Refits that a check does unasked: those of up to fewSums sums take seconds.
const (
	defaultRefits = 50
	fewSums       = 35
	maxRefits     = 100_000
)

type checkCommand struct {
	inferFlags
	formula, plot string
	calibrate     int
	calibrateSet  bool
}

func newCheck() *cobra.Command {
	var c checkCommand
	cmd := &cobra.Command{
		Use:   "check RELEASE.json",
		Short: "Check whether the release is one that the model makes",
		Long:  checkHelp,
		Example: `  dpreg check pums.release.json --plot check.svg
  dpreg check pums.release.json --formula 'income ~ educ - 1' --calibrate 200`,
		Args: oneFile("a release"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd); err != nil {
				return err
			}
			return c.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	c.registerSampler(cmd)
	c.registerDraws(cmd)
	c.registerFormat(cmd)
	c.pageFlag.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&c.formula, "formula", "", formulaUsage+"default: the release's own")
	fs.StringVar(&c.plot, "plot", "", "draw the release against replicated ones into this `FILE`, .svg or .png")
	fs.IntVar(&c.calibrate, "calibrate", defaultRefits, "`NUMBER` of refits that calibrate the p-values; 0: none (and none unasked where there are many sums)")
	return cmd
}

func (c *checkCommand) check(cmd *cobra.Command) error {
	if err := c.inferFlags.check(cmd); err != nil {
		return err
	}
	if c.calibrate < 0 || c.calibrate > maxRefits {
		return usagef("--calibrate %d: from 0 to %d", c.calibrate, maxRefits)
	}
	c.calibrateSet = cmd.Flags().Changed("calibrate")
	return checkPlotFile(c.plot)
}

func (c *checkCommand) run(ctx context.Context, stdout, stderr io.Writer, path string) error {
	r, err := readRelease(path)
	if err != nil {
		return err
	}
	if r, err = selectModel(stderr, r, c.formula); err != nil {
		return err
	}
	if c.plot != "" {
		if err := (inputs{path, c.prior}).spare(c.plot); err != nil {
			return within("--plot", err)
		}
	}
	if !dpreg.Checkable(c.method) || c.clamping {
		return usagef("method %s does not learn the law of the covariates, or models clamping, so that there is no fitted law of rows to check; leave out --method and --model-clamping", c.method)
	}
	if sums := len(r.Statistics.Vector()); !c.calibrateSet && sums > fewSums {
		note(stderr, "%d sums make refits slow: p-values are not calibrated (--calibrate %d does it)", sums, defaultRefits)
		c.calibrate = 0
	}
	if err := c.of([]string{path}); err != nil {
		return err
	}
	fit, err := c.sample(ctx, stderr, oneRelease(path, r), inputs{path})
	if err != nil {
		return err
	}
	bar := refitBar(stderr, c.calibrate)
	check, err := fit.Check(ctx, dpreg.CheckOptions{Calibrate: c.calibrate, Seed: c.seed, Progress: bar.update})
	bar.finish()
	if err != nil {
		return err
	}
	return c.conclude(stdout, stderr, fit, check)
}

func (c *checkCommand) conclude(stdout, stderr io.Writer, fit *dpreg.Fit, check *dpreg.Check) error {
	c.made.Method = c.method
	page := func(w io.Writer, made report.Run) error { return report.CheckPage(w, check, fit, made) }
	if err := c.pageFlag.write(stderr, public, page); err != nil {
		return err
	}
	if c.plot != "" {
		draw := func(w io.Writer) error { return report.PlotCheck(w, check, fit.Design, plotFormat(c.plot)) }
		if err := writeFile(c.plot, public, draw); err != nil {
			return err
		}
		note(stderr, "plot written to %s", c.plot)
	}
	if err := c.show(stdout, check, fit.Design); err != nil {
		return err
	}
	if ok, reason := fit.Converged(); !ok {
		return &exitError{unconverged, fmt.Errorf("not converged: %s", reason)}
	}
	return nil
}

func (c *checkCommand) show(stdout io.Writer, check *dpreg.Check, d *schema.Design) error {
	out := bufio.NewWriter(stdout)
	var err error
	switch c.format {
	case "json":
		err = check.WriteJSON(out)
	case "csv":
		err = check.WriteCSV(out)
	default:
		err = report.Check(out, check, d)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// refits shows how many are done, where stderr is a terminal.
type refits struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

// refitBar is nil, which is a bar that shows nothing, where none is drawn.
func refitBar(stderr io.Writer, count int) *refits {
	if count == 0 || !isTerminal(stderr) {
		return nil
	}
	r := &refits{container: mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(40))}
	r.bar = r.container.AddBar(int64(count+1), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("refits ")), mpb.AppendDecorators(decor.CountersNoUnit("%d of %d")))
	return r
}

func (r *refits) update(done, _ int) {
	if r != nil {
		r.bar.SetCurrent(int64(done))
	}
}

func (r *refits) finish() {
	if r != nil {
		r.bar.Abort(true)
		r.container.Wait()
	}
}
