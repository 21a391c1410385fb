package main

import (
	csvfile "encoding/csv"
	"errors"
	"io"
	"strconv"

	"github.com/dpreg/dpreg/model"
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
		if err := buffered(f.stdout(), func(w io.Writer) error { return writeAlong(w, f.along, points, o.Family) }); err != nil {
			return err
		}
	}
	figure := report.LinePlot(points, held, f.along, run.Design.Response.Name, f.level, o.Family)
	return errors.Join(f.writePlot(public, figure.Write), unsettled)
}

// writeAlong writes a row for each point: the line and its interval, or those of a family's probability
// or rate; of a line that of a new response, too.
func writeAlong(w io.Writer, column string, points []predict.Point, family model.Family) error {
	records := [][]string{{column, ".fitted", ".lower", ".upper", ".new.lower", ".new.upper"}}
	if family != model.Normal {
		records[0] = records[0][:4]
	}
	for _, p := range points {
		var record []string
		for _, v := range []float64{p.X, p.Line.Fitted, p.Line.Lower, p.Line.Upper, p.New.Lower, p.New.Upper}[:len(records[0])] {
			record = append(record, strconv.FormatFloat(v, 'g', -1, 64))
		}
		records = append(records, record)
	}
	return csvfile.NewWriter(w).WriteAll(records)
}
