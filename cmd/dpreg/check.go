package main

import (
	"io"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/report"
)

// Refits that a check does unasked: those of up to fewSums sums take seconds.
const (
	defaultRefits = 50
	fewSums       = 35
	maxRefits     = 100_000
)

func runCheck(f *flags, paths []string) error {
	if err := f.checkPlot(append(slices.Clone(paths), f.prior.File)...); err != nil {
		return err
	}
	e, err := f.checkedEvidence(paths)
	if err != nil {
		return err
	}
	if !dpreg.Checkable(f.method) || f.clamping {
		return usagef("method %s does not learn the law of the covariates, or models clamping, so that there is no fitted law of rows to check; leave out --method and --model-clamping", f.method)
	}
	if err := check.Can(e.Custodians); err != nil {
		return usage(err)
	}
	sums := 0
	for _, custodian := range e.Custodians {
		sums += len(custodian.Release.Statistics.Vector())
	}
	if !f.given("calibrate") && sums > fewSums {
		f.note("%d sums make refits slow: p-values are not calibrated (--calibrate %d does it)", sums, defaultRefits)
		f.calibrate = 0
	}
	made, err := f.made(paths)
	if err != nil {
		return err
	}
	made.Method = f.method
	fit, err := f.sample(e, slices.Clone(paths))
	if err != nil {
		return err
	}
	bar := countingBar(f.stderr(), "refits ")
	result, err := check.Fit(f.ctx(), fit, check.Options{Calibrate: f.calibrate, Seed: f.seed, Progress: bar.update})
	bar.finish()
	if err != nil {
		return err
	}
	if err := f.writePage(public, func(w io.Writer) error { return report.CheckPage(w, result, fit, made) }); err != nil {
		return err
	}
	if err := f.writePlot(public, report.CheckPlot(result, fit.Design).Write); err != nil {
		return err
	}
	if err := f.print(result, func(out io.Writer) error { return report.Check(out, result, fit.Design) }); err != nil {
		return err
	}
	return converged(fit)
}
