package main

import (
	"bytes"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/report"
)

const planHelp = `Say what a release would tell, before any row is touched: which ε, how many
records?

For each ε and n, releases are simulated: the exact sums of n normal rows, noise as a release has it, and the posterior as infer
draws it. The table has, averaged over them, the width of a slope's interval;
posterior contraction, 1 - (posterior IQR / prior IQR)^2; the price of privacy, posterior
sd over the sd from the same rows without noise. Nothing is spent: no data are
read, and the simulated releases are not kept.

--eps and --n take lists. Of a single value a quarter and four times it are added,
unless --no-grid is given. Without --schema, columns are on [-1, 1]: with a slope
of 0.5 the response goes from the middle of its range half way to the end, as the
covariate goes from the middle of its own to the end. With --schema, widths are in
the data's units.

What a release tells hangs on how far columns spread within their bounds. Without rows
that is assumed, and said above the table: state what is publicly known by --mean, --sd
and --r2, in the data's units. --slope fixes the slope, and then the share of intervals
that find its sign is shown.
The same --seed gives the same result, whatever the number of cores.`

func newPlan() *cobra.Command {
	var c planFlags
	cmd := &cobra.Command{
		Use:   "plan --n N --eps EPS (--p P | --schema FILE)",
		Short: "Foresee what a release would tell: which ε, how many records",
		Long:  planHelp,
		Example: `  dpreg plan --n 500 --p 3 --eps 0.5
  dpreg plan --n 200,1000,5000 --eps 0.1,0.5,1 --p 2 --slope 0.3 --plot plan.svg
  dpreg plan --n 1000 --eps 1 --schema pums.schema.json --formula 'income ~ age + educ' --mean income=35000 --sd income=50000,educ=3 --covariate educ`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("plan takes no file but by a flag, and reads no data: %q (is a blank in a list, or a quotation mark missing around a formula?)", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), cmd)
		},
	}
	c.register(cmd)
	return cmd
}

func (f *planFlags) run(ctx context.Context, stdout, stderr io.Writer, cmd *cobra.Command) error {
	o, err := f.options(cmd)
	if err != nil {
		return err
	}
	show, err := f.shown(&o)
	if err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(err)
	}
	f.sayGrid(stderr, o)
	bar := countingBar(stderr, "simulating releases ", len(o.Epsilons)*len(o.Ns)*o.Releases)
	o.Progress = bar.update
	forecast, err := plan.Foresee(ctx, o)
	bar.finish()
	if err != nil {
		return err
	}
	if f.plot != "" {
		if err := f.draw(forecast, show); err != nil {
			return err
		}
		note(stderr, "picture written to %s", f.plot)
	}
	page := func(w io.Writer, made report.Run) error { return report.ForecastPage(w, forecast, show, made) }
	if err := f.pageFlag.write(stderr, public, page); err != nil {
		return err
	}
	return printAs(stdout, f.format, forecast, func(out io.Writer) error { return report.Forecast(out, forecast, show) })
}

// draw draws first and then writes, so that no half of a picture is left.
func (f *planFlags) draw(forecast *plan.Forecast, show report.ForecastOptions) error {
	var picture bytes.Buffer
	if err := report.ForecastPlot(forecast, show).Write(&picture, plotFormat(f.plot)); err != nil {
		return err
	}
	return writeFile(f.plot, public, func(w io.Writer) error {
		_, err := picture.WriteTo(w)
		return err
	})
}
