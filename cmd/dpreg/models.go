package main

import (
	"io"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/models"
	"github.com/dpreg/dpreg/report"
)

func runModels(f *flags, paths []string) error {
	e, err := f.checkedEvidence(paths)
	if err != nil {
		return err
	}
	o, err := f.options(e.Design, "", paths, dpreg.Releases(e.Custodians)...)
	if err != nil {
		return err
	}
	bar := countingBar(f.progress(), "models ")
	c, err := models.Compare(f.ctx(), e.Custodians, o, bar.update)
	bar.finish()
	if err != nil {
		return usage(err)
	}
	if err := f.print(c, func(out io.Writer) error { return report.Models(out, c, f.style()) }); err != nil {
		return err
	}
	if c.Unsettled > 0 {
		return unconvergedError("not converged: the chains of some models")
	}
	return nil
}
