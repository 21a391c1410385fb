package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/release"
)

const inferHelp = `Draw from the posterior of the regression, given a release and nothing else.
Several releases, of custodians who may not pool rows, give one joint posterior:
columns are matched by name, bounds may differ, and each release keeps its own noise,
number of rows and ε (docs/custodians.md). Where they contradict one another, a
warning names those that do: --pooling partial gives each a regression of its own.
Several releases of the same rows measure the same sums: --same-rows.

The noise of the release is part of the model, so intervals have the width that
data seen through noise deserve. It costs no privacy, however often it is done:
--formula takes any column of the release as the response and any others as
covariates.

Below the table stands the price of privacy: the posterior standard deviation
over the one expected had there been no noise. The column Contr. is
the posterior contraction, 1 - (posterior IQR / prior IQR)^2: near 0, the release says
nothing on that parameter and the prior speaks.

Chains run until every parameter has the effective sample size --ess, bulk and
tail, and R-hat is below its limit; or for --draws iterations each. The same release
and --seed give the same draws. Exit code 4 says that a convergence diagnostic failed: R-hat above 1.01 (1.02
where an effective sample size is below 1000), or such a size below 400 without
--draws (Vehtari et al. 2021, Bayesian Analysis 16).`

type inferCommand struct {
	inferFlags
	formula    string
	printPrior bool
}

func newInfer() *cobra.Command {
	var c inferCommand
	cmd := &cobra.Command{
		Use:   "infer RELEASE.json ...",
		Short: "Infer the posterior from a release, or from several: costs no privacy",
		Long:  inferHelp,
		Example: `  dpreg infer pums.release.json
  dpreg infer pums.release.json --formula 'income ~ educ' --level 0.9
  dpreg infer pums.release.json --prior 'educ ~ normal(4000, 2000)' --print-prior
  dpreg infer pums.release.json --format json --save posterior/
  dpreg infer north.release.json south.release.json --pooling partial`,
		Args: releases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd); err != nil {
				return err
			}
			if err := c.checkSharing(cmd, len(args)); err != nil {
				return err
			}
			return c.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	c.register(cmd)
	cmd.Flags().StringVar(&c.formula, "formula", "", formulaUsage+"default: the release's own")
	cmd.Flags().BoolVar(&c.printPrior, "print-prior", false, "print the prior in words, in the data's units, and sample nothing")
	c.registerSharing(cmd)
	c.registerSameRows(cmd)
	return cmd
}

func (c *inferCommand) run(ctx context.Context, stdout, stderr io.Writer, paths []string) error {
	e, err := readEvidence(stderr, paths, c.formula)
	if err != nil {
		return err
	}
	if c.printPrior {
		return c.priorFlags.print(stdout, e.design, e.differ(), e.releases()...)
	}
	return c.infer(ctx, stdout, stderr, e, slices.Clone(paths))
}

// releases is the cobra.PositionalArgs of a command on one release or several.
func releases(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs a release: %s", cmd.Name(), cmd.UseLine())
	}
	return nil
}

// readRelease reads a release that was named on the command line.
func readRelease(path string) (*release.Release, error) {
	r, err := release.ReadFile(path)
	if err != nil {
		return nil, usagef("%w (`dpreg release` makes one from data)", err)
	}
	return r, nil
}

// infer draws from the posterior, and shows it. keep is what it must not overwrite.
func (f *inferFlags) infer(ctx context.Context, stdout, stderr io.Writer, e *evidence, keep inputs) error {
	if err := f.of(e.names()); err != nil {
		return err
	}
	fit, err := f.sample(ctx, stderr, e, keep)
	if err != nil {
		return err
	}
	what, err := f.asked(ctx, stderr, fit)
	if err != nil {
		return err
	}
	return f.conclude(ctx, stdout, stderr, fit, what)
}
