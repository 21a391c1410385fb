package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/dpreg/dpreg/calibration/audit"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
)

func runAudits(f *flags, _ []string) error {
	audits, err := f.audits()
	if err != nil {
		return err
	}
	var results []*audit.Result
	for _, a := range audits {
		bar := countingBar(f.stderr(), "trials ")
		a.Progress = bar.update
		r, err := a.Run(f.ctx(), a.Released())
		bar.finish()
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	err = buffered(f.stdout(), func(out io.Writer) error {
		if f.format == "table" {
			return report.Audit(out, results)
		}
		return number.Lines(out, struct {
			Format string          `json:"format"`
			Audits []*audit.Result `json:"audits"`
		}{"dpreg-audit/1", results})
	})
	if err != nil {
		return err
	}
	var failures []string
	for _, r := range results {
		for _, failure := range r.Failures() {
			failures = append(failures, fmt.Sprintf("m = %d: %s", r.Columns, failure))
		}
	}
	if len(failures) > 0 {
		return fmt.Errorf("the audit found a fault: %s", strings.Join(failures, "; "))
	}
	return nil
}

// audits are what the flags ask for, one for each number of columns.
func (f *flags) audits() ([]*audit.Audit, error) {
	privacy, err := f.privacy()
	if err != nil {
		return nil, err
	}
	ms, err := parseList("m", f.audited, whole[int](audit.MaxColumns))
	if err != nil {
		return nil, err
	}
	releases, err := whole[int](audit.MaxReleases)(f.releases)
	if err != nil {
		return nil, usagef("--releases %q: %w", f.releases, err)
	}
	steps, err := custody.ParseSteps(f.looks)
	if err != nil {
		return nil, err
	}
	var audits []*audit.Audit
	coins := mechanisms.NewStream(mechanisms.OS()) // that choose a data set, which no releaser may know
	for _, m := range ms {
		a := &audit.Audit{Columns: m, Privacy: privacy, Noise: release.Kind(f.mechanism), Steps: steps, Releases: releases, Workers: runtime.GOMAXPROCS(0), Seed: coins.Uint64()}
		if err := a.Settle(); err != nil {
			return nil, usage(err)
		}
		audits = append(audits, a)
	}
	return audits, nil
}
