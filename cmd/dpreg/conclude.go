package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/whatif"
)

// conclude prints the result, saves and draws what is to be, and then says whether
// the chains converged.
func (f *inferFlags) conclude(ctx context.Context, stdout, stderr io.Writer, fit *dpreg.Fit, what *whatif.Answers) error {
	summary := f.summary(fit, what)
	if err := f.print(stdout, fit, what, summary); err != nil {
		return err
	}
	if f.save != "" {
		if err := f.write(fit, summary); err != nil {
			return err
		}
		note(stderr, "draws and summary saved in %s", f.save)
	}
	if err := f.illustrate(ctx, stderr, fit, what); err != nil {
		return err
	}
	if ok, reason := fit.Converged(); !ok {
		return &exitError{unconverged, fmt.Errorf("not converged: %s", reason)}
	}
	if all := doubts(what); all != nil {
		return &exitError{unconverged, errors.New(all[0])}
	}
	return nil
}

// doubts are the variants of --what-if that did not converge, and why; what may be nil.
func doubts(what *whatif.Answers) (all []string) {
	if what == nil {
		return nil
	}
	for _, v := range what.Variants {
		if v.Reason != "" {
			all = append(all, fmt.Sprintf("--what-if: not converged, %s: %s", v.Name, v.Reason))
		}
	}
	return all
}

// summary is that of the units and the level asked for, with the answer to --what-if.
func (f *inferFlags) summary(fit *dpreg.Fit, what *whatif.Answers) *posterior.Summary {
	s := fit.Summary(dpreg.Units(f.units), f.level)
	s.Version = posterior.Known(version())
	if what != nil {
		s.WhatIf = what
	}
	s.Warnings = append(s.Warnings, doubts(what)...)
	return s
}

// print writes the result in the format asked for, and nothing else.
func (f *inferFlags) print(stdout io.Writer, fit *dpreg.Fit, what *whatif.Answers, summary *posterior.Summary) error {
	return printAs(stdout, f.format, summary, func(out io.Writer) error {
		err := report.Fit(out, fit, report.Options{Units: dpreg.Units(f.units), Level: f.level})
		if err == nil && what != nil {
			err = report.WhatIf(out, what)
		}
		return err
	})
}

// written is a result that programs read.
type written interface {
	WriteJSON(io.Writer) error
	WriteCSV(io.Writer) error
}

// printAs writes a result as --format says: as JSON, CSV or a text.
func printAs(stdout io.Writer, format string, result written, text func(io.Writer) error) error {
	out := bufio.NewWriter(stdout)
	write := text
	switch format {
	case "json":
		write = result.WriteJSON
	case "csv":
		write = result.WriteCSV
	}
	if err := write(out); err != nil {
		return err
	}
	return out.Flush()
}

// registerSharing registers what only several releases have.
func (f *inferFlags) registerSharing(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.covariates, "covariates", dpreg.SeparateCovariates, "of several releases, `NAME`: separate, each has a law of the covariates of its own, or shared")
	fs.StringVar(&f.pooling, "pooling", dpreg.CompletePooling, "of several releases, `NAME`: complete, one regression, or partial, coefficients and sigma of each about common ones")
	oneOf(cmd, "covariates", dpreg.SeparateCovariates, dpreg.SharedCovariates)
	oneOf(cmd, "pooling", dpreg.CompletePooling, dpreg.PartialPooling)
}

// registerSameRows registers what is of several releases of the same rows.
func (f *inferFlags) registerSameRows(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.sameRows, "same-rows", false, "all releases are of the same rows, and measure the same sums")
}

// checkSharing checks the flags for so many releases.
func (f *inferFlags) checkSharing(cmd *cobra.Command, releases int) error {
	if err := choose("covariates", f.covariates, []string{dpreg.SeparateCovariates, dpreg.SharedCovariates}); err != nil {
		return err
	}
	if err := choose("pooling", f.pooling, []string{dpreg.CompletePooling, dpreg.PartialPooling}); err != nil {
		return err
	}
	for _, flag := range []string{"covariates", "pooling", "same-rows"} {
		switch changed := cmd.Flags().Changed(flag); {
		case changed && releases == 1:
			return usagef("--%s is of several releases, and there is one", flag)
		case changed && f.sameRows && flag != "same-rows":
			return usagef("--same-rows and --%s exclude each other: the same rows share everything", flag)
		}
	}
	return nil
}

const whatIfUsage = "repeat the fit with other priors (scales a third and three times as large) and another model of the covariates, and say whether the conclusions move"

// checkWhatIf refuses --what-if where it has no meaning.
func (f *inferFlags) checkWhatIf() error {
	switch {
	case !f.whatIf:
		return nil
	case f.method == nonPrivate:
		return usagef("--what-if repeats a fit of a release, and --method %s has none", nonPrivate)
	case f.format == "csv":
		return usagef("--what-if has no CSV: choose --format table or json")
	}
	return nil
}

// asked answers --what-if; nil where it was not given.
func (f *inferFlags) asked(ctx context.Context, stderr io.Writer, fit *dpreg.Fit) (*whatif.Answers, error) {
	if !f.whatIf {
		return nil, nil
	}
	var bar *counting
	defer func() { bar.finish() }()
	progress := func(done, total int) {
		if bar == nil {
			bar = countingBar(stderr, "what if ", total)
		}
		bar.update(done, total)
	}
	return whatif.Of(ctx, fit, whatif.Options{Units: dpreg.Units(f.units), Level: f.level, Progress: progress})
}
