package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

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
	s.Version = version()
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
