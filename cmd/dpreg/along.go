package main

import (
	"errors"
	"io"

	"github.com/dpreg/dpreg/predict"
	"github.com/dpreg/dpreg/report"
)

// alongPoints are those at which a line is predicted.
const alongPoints = 101

// predictAlong predicts along a column, as a picture or as rows.
func (f *flags) predictAlong(args []string) error {
	err := f.refuseGiven("output mean"+fileFlags, "--%s is of a file of new rows, and --along takes none")
	if err == nil && f.given("draws") {
		err = errors.Join(takes(0, "")(f.cmd, args), f.refuseDrawn())
	} else if err == nil {
		err = errors.Join(takes(many, "a release")(f.cmd, args), f.checkSharing(len(args)), f.checkFit())
	}
	if err = errors.Join(err, f.checkPlot(append(args[:len(args):len(args)], f.prior.File)...)); err != nil {
		return err
	}
	run, err := f.savedOr(args)
	if err != nil {
		return err
	}
	o, unsettled, err := f.drawn(run)
	if err != nil {
		return err
	}
	points, held, err := predict.Along(run.Draws, run.Design, run.Units, o, f.along, alongPoints)
	if err != nil {
		return usage(within("--along", err))
	}
	f.sayWhose(run)
	if f.plot == "" {
		if err := buffered(f.stdout(), func(w io.Writer) error { return predict.WriteAlong(w, f.along, points, o.Family) }); err != nil {
			return err
		}
	}
	figure := report.LinePlot(points, held, f.along, run.Design.Response.Name, f.level, o.Family)
	return errors.Join(f.writePlot(public, figure.Write), unsettled)
}
