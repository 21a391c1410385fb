package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/ask"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/saved"
)

// runAsk answers questions about the posterior given releases, or about draws that were saved.
func runAsk(f *flags, args []string) error {
	sources, questions := sourcesAmong(args)
	if len(sources) == 0 {
		return usagef("ask needs a release, or a directory that dpreg infer --save wrote, before the questions: %s", f.cmd.UseLine())
	}
	p, unsettled, err := f.posterior(sources)
	if err != nil {
		return err
	}
	answers, err := p.Ask(f.level, questions...)
	if err != nil {
		return usage(err)
	}
	if err := f.print(answers, func(out io.Writer) error { return report.Answers(out, answers, f.style()) }); err != nil {
		return err
	}
	return unsettled
}

// sourcesAmong are the first arguments, as far as there are such files, and the rest. One that
// looks like a file's name is a source, too, so that a slip in it is not taken for a question.
func sourcesAmong(args []string) (sources, rest []string) {
	for i, arg := range args {
		if _, err := os.Stat(arg); err != nil && filepath.Ext(arg) != ".json" {
			return slices.Clip(args[:i]), args[i:]
		}
	}
	return args, nil
}

// posterior draws, or reads draws. unsettled tells that the chains did not converge.
func (f *flags) posterior(sources []string) (p *ask.Posterior, unsettled, err error) {
	if info, err := os.Stat(sources[0]); err == nil && info.IsDir() {
		return f.savedPosterior(sources)
	}
	e, err := f.checkedEvidence(sources)
	if err != nil {
		return nil, nil, err
	}
	fit, err := f.sample(e, sources)
	if err != nil {
		return nil, nil, err
	}
	return ask.Of(fit, dpreg.Units(f.units)), f.doubted(fit), nil
}

func (f *flags) savedPosterior(sources []string) (p *ask.Posterior, unsettled, err error) {
	const there = "--%s cannot be combined with a directory of draws, since the draws are there already; dpreg infer --save makes others"
	if len(sources) > 1 {
		return nil, nil, usagef("a directory of draws is asked alone, and %d files are given", len(sources))
	}
	if err := f.refuseGiven("formula family units same-rows draws"+samplerFlags+sharingFlags, there); err != nil {
		return nil, nil, err
	}
	run, err := readSaved(sources[0])
	if err != nil {
		return nil, nil, err
	}
	prior, failed, err := run.Summary(saved.Dir(sources[0]).Summary())
	if err != nil {
		return nil, nil, usage(err)
	}
	p = &ask.Posterior{Draws: run.Draws, Units: run.Units, Design: run.Design, Family: run.Family, Custodians: dpreg.Names(run.Custodians), Prior: prior}
	if failed {
		unsettled = unconvergedError("not converged: the draws of " + sources[0] + " did not, as their summary.json says")
	}
	return p, unsettled, nil
}
