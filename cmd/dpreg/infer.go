package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/saved"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/signature"
	"github.com/dpreg/dpreg/whatif"
)

// fitFlags are those of what samples and shows a fit.
const fitFlags = samplerFlags + " family draws format level units digits positive quiet save names parquet plots report what-if "

func runInfer(f *flags, paths []string) error {
	e, err := f.checkedEvidence(paths)
	if err != nil {
		return err
	}
	if f.printPrior {
		return f.printThePrior(e)
	}
	return f.infer(e, slices.Clone(paths), "")
}

// readRelease reads a release that was named on the command line, once: what is parsed is what was signed.
func (f *flags) readRelease(path string) (*release.Release, error) {
	const makes = "%w (`dpreg release` makes one from data)"
	file, err := os.Open(path)
	if err != nil {
		return nil, usagef(makes, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, usagef("%s is a directory: name a release in it", path)
	}
	var text bytes.Buffer
	r, err := release.Read(io.TeeReader(file, &text))
	if err != nil {
		return nil, usagef(makes, within(path, err))
	}
	return r, f.verifySigned(path, text.Bytes())
}

// nonPrivate is the method that needs rows, so that only fit has it.
const nonPrivate = "non-private"

func methods(cmd *cobra.Command) []string {
	names := []string{dpreg.Auto}
	for _, m := range dpreg.Methods() {
		names = append(names, m.Name())
	}
	if cmd.Name() == "fit" {
		names = append(names, nonPrivate)
	}
	return names
}

// checkFit checks what needs no file, and must come before anything is spent.
func (f *flags) checkFit() error {
	auto := f.method == dpreg.Auto
	switch {
	case f.kernel != "" && !auto && !dpreg.Traits(f.method).Kernels:
		return usagef("--kernel: method %s has no choice of kernel", f.method)
	case f.clamping && !auto && !dpreg.Traits(f.method).Clamping:
		return usagef("--model-clamping: method %s cannot model clamping, %s can", f.method, individual.Method{}.Name())
	case f.clamping && f.kernel != "":
		return usagef("--model-clamping and --kernel exclude each other: no method has both")
	case f.draws > 0 && f.given("ess"):
		return usagef("--draws and --ess exclude each other: one fixes the number of draws, the other finds it")
	case f.family != "" && f.method == nonPrivate:
		return usagef("--method %s is least squares of the rows, and has no --family", nonPrivate)
	case f.whatIf && f.method == nonPrivate:
		return usagef("--what-if repeats a fit of a release, and --method %s has none", nonPrivate)
	case f.whatIf && f.format != "table" && f.format != "json":
		return usagef("--what-if has no %s: choose --format table or json", f.format)
	}
	return f.checkPage()
}

// checkSharing checks the flags for so many releases.
func (f *flags) checkSharing(releases int) error {
	for _, flag := range []string{"covariates", "pooling", "same-rows"} {
		switch changed := f.given(flag); {
		case changed && releases == 1:
			return usagef("--%s is of several releases, and there is one", flag)
		case changed && f.sameRows && flag != "same-rows":
			return usagef("--same-rows and --%s exclude each other: the same rows share everything", flag)
		}
	}
	return nil
}

// options turns flags that were checked into those of dpreg.Infer, and looks whether what is asked
// for can be written, before anything is spent. keep is what the run reads or pays for beside the
// prior. The default prior is that for the releases; differ says how their scaled units do.
func (f *flags) options(d *schema.Design, differ string, keep inputs, releases ...*release.Release) (dpreg.Options, error) {
	o := dpreg.Options{
		Method:        f.method,
		Family:        model.Family(f.family),
		Kernel:        f.kernel,
		ModelClamping: f.clamping,
		Covariates:    f.covariates,
		Pooling:       f.pooling,
		SameRows:      f.sameRows,
		Plan:          mcmc.Plan{Chains: f.chains, Warmup: f.warmup, ESS: f.ess, Seed: f.seed},
	}
	if f.draws > 0 {
		o.Plan.Draws, o.Plan.ESS = f.draws, 0
	}
	keep = append(keep, f.prior.File)
	_, err := checkDir(f.plots, f.plotFiles(), keep)
	if err = errors.Join(f.checkSave(keep), within("--plots", err), f.pageWritable(keep)); err == nil {
		o.Prior, err = f.prior.For(d, differ, releases...)
	}
	return o, usage(err)
}

// sample draws from the posterior, with a bar. keep is what the run must not overwrite.
func (f *flags) sample(e *saved.Run, keep inputs) (*dpreg.Fit, error) {
	o, err := f.options(e.Design, differ(e.Custodians), keep, dpreg.Releases(e.Custodians)...)
	if err != nil {
		return nil, err
	}
	if err := dpreg.Can(e.Custodians, o); err != nil {
		return nil, usage(err)
	}
	bar := samplingBar(f.progress(), o.Plan)
	o.Plan.Progress, o.Plan.Expect = bar.update, f.announce(e)
	fit, err := dpreg.Infer(f.ctx(), e.Custodians, o)
	bar.finish()
	return fit, err
}

// infer draws from the posterior, and shows it. keep is what it must not overwrite; repeat is
// how to repeat it, where it is not the command line.
func (f *flags) infer(e *saved.Run, keep inputs, repeat string) error {
	made, err := f.made(dpreg.Names(e.Custodians))
	if err != nil {
		return err
	}
	made.Repeat = repeat
	fit, err := f.sample(e, keep)
	if err != nil {
		return err
	}
	var what *whatif.Answers
	if f.whatIf {
		bar := countingBar(f.progress(), "what if ")
		what, err = whatif.Of(f.ctx(), fit, whatif.Options{Units: dpreg.Units(f.units), Level: f.level, Progress: bar.update})
		bar.finish()
		if err != nil {
			return err
		}
	}
	return f.conclude(fit, what, made)
}

// conclude prints the result, saves and draws what is to be, and then says whether
// the chains converged. what is nil where it was not asked for.
func (f *flags) conclude(fit *dpreg.Fit, what *whatif.Answers, made report.Run) error {
	doubts := doubts(what)
	summary := fit.Summary(dpreg.Units(f.units), f.level)
	summary.Version = posterior.Known(signature.Version())
	if what != nil {
		summary.WhatIf = what
	}
	summary.Warnings = append(summary.Warnings, doubts...)
	err := f.print(summary, func(out io.Writer) error {
		err := report.Fit(out, fit, f.style())
		if err == nil && what != nil {
			err = report.WhatIf(out, what)
		}
		return err
	})
	if err != nil {
		return err
	}
	if f.format == "csv" || slices.Contains(report.TableFormats, f.format) { // which have numbers alone
		f.noteWarnings(fit)
	}
	if f.save != "" {
		draws := fit.StanDraws(dpreg.Units(f.units))
		if f.heads == "labels" {
			draws.Labels = posterior.Distinct(draws.Names, fit.StanLabels())
		}
		comments, dir := saved.Comments(fit, draws, dpreg.Units(f.units), summary, signature.Version()), saved.Dir(f.save)
		if err := errors.Join(dir.Write(draws, summary, comments, modeOfFit(fit), f.parquet), dir.WriteReleases(fit)); err != nil {
			return within("--save", err)
		}
		f.note("draws and summary saved in %s", f.save)
	}
	made.Method = f.method
	if err := f.illustrate(fit, what, made); err != nil {
		return err
	}
	if err := converged(fit); err != nil || doubts == nil {
		return err
	}
	return unconvergedError(doubts[0])
}

// converged is an error where a fit's chains did not converge.
func converged(fit *dpreg.Fit) error {
	if ok, reason := fit.Converged(); !ok {
		return unconvergedError("not converged: " + reason)
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

// written is a result that programs read.
type written interface {
	WriteJSON(io.Writer) error
	WriteCSV(io.Writer) error
}

// print writes a result as --format says: as JSON, CSV or a text.
func (f *flags) print(result written, text func(io.Writer) error) error {
	write := text
	switch f.format {
	case "json":
		write = result.WriteJSON
	case "csv":
		write = result.WriteCSV
	}
	return buffered(f.stdout(), write)
}

// style is how a text is written: as wide as the terminal that it goes to, and of 80 columns
// elsewhere.
func (f *flags) style() report.Options {
	o := report.Options{Units: dpreg.Units(f.units), Level: f.level, Sign: f.sign, Brief: f.quiet, Digits: f.digits, Width: terminalWidth(f.stdout())}
	if slices.Contains(report.TableFormats, f.format) {
		o.Format = f.format
	}
	return o
}

// buffered writes in large pieces.
func buffered(w io.Writer, write func(io.Writer) error) error {
	out := bufio.NewWriter(w)
	if err := write(out); err != nil {
		return err
	}
	return out.Flush()
}
