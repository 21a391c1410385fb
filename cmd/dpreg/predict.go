package main

import (
	"context"
	csvfile "encoding/csv"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/predict"
	"github.com/dpreg/dpreg/saved"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

func (f *flags) checkPredict(args []string) error {
	saved := f.given("draws")
	switch last := len(args) - 1; {
	case saved && len(args) != 1:
		return usagef("predict --draws DIR takes one file, that of the new rows, and %d were given: %s", len(args), f.cmd.UseLine())
	case !saved && len(args) == 1:
		return usagef("predict needs a release and a file of new rows, or --draws DIR in place of the release: %s", f.cmd.UseLine())
	case !saved && len(args) == 0:
		return usagef("predict needs a release and a file of new rows: %s", f.cmd.UseLine())
	case !saved && strings.HasSuffix(args[last], ".json"):
		return usagef("predict needs a file of new rows behind the releases, and %s, the last one given, is no such file: %s", args[last], f.cmd.UseLine())
	case saved:
		return f.refuseDrawn()
	}
	return errors.Join(f.checkSharing(len(args)-1), f.checkFit())
}

// refuseDrawn refuses flags of draws that are there.
func (f *flags) refuseDrawn() error {
	return f.refuseGiven("formula family"+samplerFlags+sharingFlags, "--%s cannot be combined with --draws, since the draws are there already; dpreg infer --save makes others")
}

func runPredict(f *flags, args []string) error {
	if f.along != "" {
		return f.predictAlong(args)
	}
	if f.plot != "" {
		return usagef("--plot draws the line along a column: name it, by --along NAME")
	}
	if err := f.checkPredict(args); err != nil {
		return err
	}
	run, err := f.savedOr(args[:len(args)-1])
	if err != nil {
		return err
	}
	form, err := f.form()
	if err != nil {
		return err
	}
	in, err := openRows(args[len(args)-1], run.Design, form)
	if err != nil {
		return err
	}
	defer in.file.Close()
	if f.output != "" { // looked at before any row is predicted
		keep := inputs(append(append(args, run.Files...), f.prior.File))
		if err := within("-o", errors.Join(keep.spare(f.output), checkWritable(f.output))); err != nil {
			return err
		}
	}
	o, unsettled, err := f.drawn(run)
	if err != nil {
		return err
	}
	p, err := predict.New(run.Draws, run.Design, run.Units, o)
	if err != nil {
		return usage(err)
	}
	f.sayWhose(run)
	if run.Design.Response.Term != nil {
		f.note("predicted is %s, the response of the model", run.Design.Response.Name)
	}
	if err := f.writePredictions(in, p); err != nil {
		return err
	}
	if in.warning != nil {
		f.note("warning: %v", in.warning)
	}
	return unsettled
}

// savedOr is the run in the directory of --draws or, without it, what draws are made from: releases.
func (f *flags) savedOr(releases []string) (*saved.Run, error) {
	if f.dir != "" {
		return readSaved(f.dir)
	}
	return f.evidence(releases)
}

// drawn draws from the posterior, unless there are draws, and says how to predict from them; unsettled
// tells that the chains did not converge.
func (f *flags) drawn(run *saved.Run) (o predict.Options, unsettled, err error) {
	o = predict.Options{Level: f.level, Mean: f.line, Family: run.Family, Common: run.OneDealing()}
	if o.Custodian, err = f.custodianNumber(run); err != nil || run.Draws != nil {
		return o, nil, err
	}
	fit, err := f.sample(run, nil)
	if err != nil {
		return o, nil, err
	}
	run.Draws, run.Units = fit.StanDraws(dpreg.Scaled), dpreg.Scaled
	return o, f.doubted(fit), nil
}

// doubted notes the warnings of a fit, and is an error where its chains did not converge.
func (f *flags) doubted(fit *dpreg.Fit) error {
	f.noteWarnings(fit)
	return converged(fit)
}

// noteWarnings notes the warnings of a fit but that its chains did not converge, which is an error.
func (f *flags) noteWarnings(fit *dpreg.Fit) {
	warnings := fit.Summary(dpreg.Original, f.level).Warnings
	if converged(fit) != nil {
		warnings = warnings[:len(warnings)-1]
	}
	for _, w := range warnings {
		f.note("warning: %s", w)
	}
}

// newRows are the rows to predict, of which the header is read.
type newRows struct {
	file   *os.File
	name   string
	header []string
	form   table.Form // in which the result is written, too
	rows   iter.Seq2[table.Row, error]
	maker  *schema.Maker // of the covariates

	warning error // of the rows, once they are read; nil: none
}

// The columns that predict adds.
var predicted = []string{".fitted", ".sd", ".lower", ".upper", ".outside"}

func openRows(path string, d *schema.Design, form table.Form) (*newRows, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, usage(err)
	}
	if info, err := file.Stat(); err != nil || info.IsDir() {
		file.Close()
		return nil, usagef("%s is a directory, and a file of rows is needed", path)
	}
	if s, err := table.Find(path); err == nil && s.Files[0].Format != table.CSVFormat {
		file.Close()
		return nil, usagef("%s is no comma-separated values, to which predict adds columns: write the new rows as a .csv file", path)
	}
	in := &newRows{file: file, name: path}
	if in.maker, err = d.Maker(d.Covariates, false); err == nil {
		in.header, in.form, in.rows, err = (table.Options{Form: form}).Columns(file, path, in.maker.Columns, in.maker.Factors)
	}
	for _, name := range in.header {
		if err == nil && slices.Contains(predicted, name) {
			err = &table.Error{File: path, Line: 1, Column: name, Err: errors.New("a column of this name is added by predict; rename or remove the one there")}
		}
	}
	if err != nil {
		file.Close()
	}
	return in, usage(err)
}

// pooled tells whether a run's regressions are pooled partially.
func (f *flags) pooled(run *saved.Run) bool {
	if run.Draws == nil {
		return f.pooling == dpreg.PartialPooling
	}
	return slices.ContainsFunc(run.Draws.Names, func(name string) bool { return model.KindOf(name) == model.ThetaAt })
}

// custodianNumber is the custodian's that --custodian names, from 1; 0 where it names none.
func (f *flags) custodianNumber(run *saved.Run) (int, error) {
	if f.custodian == "" {
		return 0, nil
	}
	names := dpreg.Names(run.Custodians)
	at := slices.Index(names, f.custodian)
	switch {
	case len(names) == 1:
		return 0, usagef("--custodian is of several releases, and there is one")
	case !f.pooled(run):
		return 0, usagef("--custodian %s: with complete pooling all custodians have one regression; --pooling partial gives each its own", f.custodian)
	case at < 0:
		return 0, usagef("--custodian %s: the custodians are %s", f.custodian, strings.Join(names, ", "))
	}
	return at + 1, nil
}

// sayWhose says of which custodian the rows are taken to be, where it matters.
func (f *flags) sayWhose(run *saved.Run) {
	switch {
	case !f.pooled(run):
	case f.custodian != "":
		f.note("predicted for the custodian %s", f.custodian)
	case run.OneDealing():
		f.note("predicted for rows as those of all parts together, by θ and σ; --custodian NAME predicts for one of %s", strings.Join(dpreg.Names(run.Custodians), ", "))
	default:
		f.note("predicted for a new custodian, whose regression lies about that of all; --custodian NAME predicts for one of %s", strings.Join(dpreg.Names(run.Custodians), ", "))
	}
}

// writePredictions predicts all rows to the file or to stdout. What goes to stdout waits in a
// temporary file until the last row is done, so that a bad one leaves nothing
// half written.
func (f *flags) writePredictions(in *newRows, p *predict.Predictor) error {
	if f.output != "" {
		// Predictions say what the release says, but beside new rows, which may be
		// private.
		var bad error
		err := files.Write(f.output, private, func(w io.Writer) error {
			bad = predictRows(f.ctx(), w, in, p)
			return bad
		})
		if bad != nil {
			return bad
		}
		return err
	}
	spool, err := os.CreateTemp("", "dpreg-*.csv")
	if err != nil {
		return err
	}
	os.Remove(spool.Name())       // nothing stays, whatever ends the process
	defer os.Remove(spool.Name()) // where an open file cannot be removed
	defer spool.Close()
	if err := predictRows(f.ctx(), spool, in, p); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(f.stdout(), spool)
	return err
}

// batchRows is the number of rows that are predicted at a time, and so all that are
// in memory.
const batchRows = 1024

// predictedRow is a row on its way from one file to the other.
type predictedRow struct {
	line   int
	fields []string
	x      []float64
	law    predict.Prediction
	err    error

	outside bool // a column that covariates are made of lies outside its bounds
}

// predictRows copies rows and adds the predictions.
func predictRows(ctx context.Context, w io.Writer, in *newRows, p *predict.Predictor) error {
	out := in.form.Writer(w)
	if err := out.Write(append(slices.Clone(in.header), predicted...)); err != nil {
		return err
	}
	rows, last, width := make([]predictedRow, 0, batchRows), table.Row{}, in.maker.Width()
	for row, err := range in.rows {
		if err != nil {
			return usage(err)
		}
		last, rows = row, rows[:len(rows)+1]
		next := &rows[len(rows)-1] // whose memory serves again
		next.line, next.fields, next.x = row.Line, append(next.fields[:0], row.Fields...), slices.Grow(next.x[:0], width)[:width]
		in.maker.Row(next.x, row.Values)
		next.outside = in.maker.Outside(row.Values)
		if len(rows) == batchRows {
			if err := predictBatch(ctx, out, in, rows, p); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	if err := predictBatch(ctx, out, in, rows, p); err != nil {
		return err
	}
	in.warning = last.Warning()
	out.Flush()
	return out.Error()
}

// predictBatch predicts rows, on all processors, and writes them in order.
func predictBatch(ctx context.Context, out *csvfile.Writer, in *newRows, rows []predictedRow, p *predict.Predictor) error {
	err := parallel.Each(ctx, 0, len(rows), nil, func(_ context.Context, i int) error {
		rows[i].law, rows[i].err = p.Predict(rows[i].x)
		rows[i].law.Outside = rows[i].law.Outside || rows[i].outside
		return nil
	})
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].err != nil {
			return usage(&table.Error{File: in.name, Line: rows[i].line, Err: rows[i].err})
		}
		if err := out.Write(append(rows[i].fields, cells(rows[i].law, in.form)...)); err != nil {
			return err
		}
	}
	return nil
}

// cells are in the order of predicted; R and Excel read TRUE and FALSE.
func cells(law predict.Prediction, form table.Form) (text []string) {
	for _, v := range []float64{law.Fitted, law.SD, law.Lower, law.Upper} {
		text = append(text, form.Number(v))
	}
	return append(text, map[bool]string{true: "TRUE", false: "FALSE"}[law.Outside])
}
