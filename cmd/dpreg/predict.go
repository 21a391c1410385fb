package main

import (
	"context"
	csvfile "encoding/csv"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/predict"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

const predictHelp = `Predict the response of new rows, given a release or draws that --save kept.

NEW.csv needs the covariates by name, factors in their levels; other columns, the
response as well, are kept as they are. The columns added are in the data's units:

  .fitted         posterior predictive mean of a new response
  .sd             its standard deviation: residual, and what is not known of θ
  .lower, .upper  its interval of probability --level
  .outside        TRUE where a covariate lies outside its public bounds: the line
                  is extrapolated to where no row of the release can lie

--mean asks for the regression line instead: where the mean of many responses
with these covariates lies. Nothing is simulated, and values are not clamped.

Given a release it infers first, as dpreg infer does; --draws DIR takes the draws
of dpreg infer --save DIR, and is done at once. The result appears only when all
rows are predicted.

Several releases, before NEW.csv, predict by their joint posterior. With --pooling
partial rows are those of a new custodian, θ_new ~ N(θ, Ω), or of the one that
--custodian names as its release was named; stderr says which. Bounds are the smallest
that hold those of all releases.`

type predictCommand struct {
	inferFlags
	formula, dir, output, custodian string
	mean                            bool
}

func newPredict() *cobra.Command {
	var c predictCommand
	cmd := &cobra.Command{
		Use:   "predict {RELEASE.json ... | --draws DIR} NEW.csv",
		Short: "Predict new responses, with intervals",
		Long:  predictHelp,
		Example: `  dpreg predict pums.release.json new.csv -o predicted.csv
  dpreg predict pums.release.json new.csv --formula 'income ~ educ' --level 0.9
  dpreg infer pums.release.json --save posterior/
  dpreg predict --draws posterior/ new.csv --mean
  dpreg predict north.json south.json new.csv --pooling partial --custodian south.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args); err != nil {
				return err
			}
			return c.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	c.registerSampler(cmd)
	c.registerLevel(cmd)
	c.registerSharing(cmd)
	c.registerSameRows(cmd)
	fs := cmd.Flags()
	fs.StringVar(&c.formula, "formula", "", formulaUsage+"default: the release's own")
	fs.StringVar(&c.dir, "draws", "", "predict from the draws in this `DIR`, which dpreg infer --save wrote")
	fs.StringVar(&c.custodian, "custodian", "", "with --pooling partial, predict for the custodian of this `NAME`, its release's (default: a new one)")
	fs.BoolVar(&c.mean, "mean", false, "the regression line and its interval, in place of a new response")
	fs.StringVarP(&c.output, "output", "o", "", "write to this `FILE`, all or nothing (default: stdout)")
	return cmd
}

func (c *predictCommand) check(cmd *cobra.Command, args []string) error {
	saved := cmd.Flags().Changed("draws")
	switch last := len(args) - 1; {
	case saved && len(args) != 1:
		return usagef("predict --draws DIR takes one file, that of the new rows, and %d were given: %s", len(args), cmd.UseLine())
	case !saved && len(args) == 1:
		return usagef("predict needs a release and a file of new rows, or --draws DIR in place of the release: %s", cmd.UseLine())
	case !saved && len(args) == 0:
		return usagef("predict needs a release and a file of new rows: %s", cmd.UseLine())
	case !saved && strings.HasSuffix(args[last], ".json"):
		return usagef("predict needs a file of new rows behind the releases, and %s, the last one given, is no such file: %s", args[last], cmd.UseLine())
	}
	if !saved {
		if err := c.checkSharing(cmd, len(args)-1); err != nil {
			return err
		}
	} else {
		for _, name := range []string{"formula", "prior", "prior-sd", "shrink", "method", "kernel", "chains", "warmup", "ess", "seed", "pooling", "covariates"} {
			if cmd.Flags().Changed(name) {
				return usagef("--%s cannot be combined with --draws: the draws of %s are there already; dpreg infer --save makes others", name, c.dir)
			}
		}
	}
	c.essSet = cmd.Flags().Changed("ess")
	return c.checkChoices(cmd)
}

func (c *predictCommand) run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	source, err := c.source(stderr, args)
	if err != nil {
		return err
	}
	in, err := openRows(args[len(args)-1], source.design)
	if err != nil {
		return err
	}
	defer in.file.Close()
	if err := c.checkOutput(append(inputs{c.prior}, append(args, source.files...)...)); err != nil {
		return err
	}
	o := predict.Options{Level: c.level, Mean: c.mean}
	if o.Custodian, err = c.number(source); err != nil {
		return err
	}
	var p *predict.Predictor
	var unsettled error
	if source.draws != nil {
		p, err = predict.New(source.draws, source.design, source.units, o)
		err = usage(err)
	} else {
		p, unsettled, err = c.infer(ctx, stderr, source.evidence, o)
	}
	if err != nil {
		return err
	}
	c.sayWhose(stderr, source)
	if err := c.write(ctx, stdout, in, p); err != nil {
		return err
	}
	if in.warning != nil {
		note(stderr, "warning: %v", in.warning)
	}
	return unsettled
}

// infer draws from the posterior; unsettled tells that the chains did not converge.
func (c *predictCommand) infer(ctx context.Context, stderr io.Writer, e *evidence, po predict.Options) (p *predict.Predictor, unsettled, err error) {
	fit, err := c.sample(ctx, stderr, e, nil)
	if err != nil {
		return nil, nil, err
	}
	warnings := fit.Summary(dpreg.Original, c.level).Warnings
	if ok, reason := fit.Converged(); !ok {
		unsettled = unconvergedError("not converged: " + reason)
		warnings = warnings[:len(warnings)-1] // which says it, too
	}
	for _, w := range warnings {
		note(stderr, "warning: %s", w)
	}
	p, err = predict.Of(fit, po)
	return p, unsettled, err
}

// newRows are the rows to predict, of which the header is read.
type newRows struct {
	file   *os.File
	name   string
	header []string
	rows   iter.Seq2[table.Row, error]

	warning error // of the rows, once they are read; nil: none
}

// The columns that predict adds.
var predicted = []string{".fitted", ".sd", ".lower", ".upper", ".outside"}

func openRows(path string, d *schema.Design) (*newRows, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, usage(err)
	}
	if info, err := file.Stat(); err != nil || info.IsDir() {
		file.Close()
		return nil, usagef("%s is a directory, and a file of rows is needed", path)
	}
	in := &newRows{file: file, name: path}
	if in.header, in.rows, err = (table.Options{}).Columns(file, path, d.Covariates, d.Factors); err == nil {
		err = in.checkHeader()
	}
	if err != nil {
		file.Close()
		return nil, usage(err)
	}
	return in, nil
}

func (in *newRows) checkHeader() error {
	for _, name := range in.header {
		for _, own := range predicted {
			if name == own {
				return &table.Error{File: in.name, Line: 1, Column: name, Err: errors.New("a column of this name is added by predict; rename or remove the one there")}
			}
		}
	}
	return nil
}

// checkOutput tells, before any row is predicted, whether the file can be written.
func (c *predictCommand) checkOutput(keep inputs) error {
	if c.output == "" {
		return nil
	}
	return within("-o", errors.Join(keep.spare(c.output), checkWritable(c.output)))
}

// predictSource is what is predicted from: releases, or a saved run of them.
type predictSource struct {
	*evidence
	draws  *posterior.Draws // nil: infer from the releases
	units  dpreg.Units
	files  []string // of the run
	pooled bool     // partially
}

func (c *predictCommand) source(stderr io.Writer, args []string) (*predictSource, error) {
	if c.dir != "" {
		run, files, err := readSaved(c.dir)
		if err != nil {
			return nil, err
		}
		pooled := slices.ContainsFunc(run.draws.Names, func(name string) bool { return model.KindOf(name) == model.ThetaAt })
		return &predictSource{run.evidence, run.draws, run.units, files, pooled}, nil
	}
	e, err := readEvidence(stderr, args[:len(args)-1], c.formula)
	return &predictSource{evidence: e, pooled: c.pooling == dpreg.PartialPooling}, err
}

// number is the custodian's that --custodian names, from 1; 0 where it names none.
func (c *predictCommand) number(s *predictSource) (int, error) {
	if c.custodian == "" {
		return 0, nil
	}
	names := s.names()
	at := slices.Index(names, c.custodian)
	switch {
	case len(names) == 1:
		return 0, usagef("--custodian is of several releases, and there is one")
	case !s.pooled:
		return 0, usagef("--custodian %s: with complete pooling all custodians have one regression; --pooling partial gives each its own", c.custodian)
	case at < 0:
		return 0, usagef("--custodian %s: the custodians are %s", c.custodian, strings.Join(names, ", "))
	}
	return at + 1, nil
}

// sayWhose says of which custodian the rows are taken to be, where it matters.
func (c *predictCommand) sayWhose(stderr io.Writer, s *predictSource) {
	switch {
	case !s.pooled:
	case c.custodian != "":
		note(stderr, "predicted for the custodian %s", c.custodian)
	default:
		note(stderr, "predicted for a new custodian, whose regression lies about that of all, θ_new ~ N(θ, Ω), log σ_new ~ N(log σ, υ²); --custodian NAME predicts for one of %s", strings.Join(s.names(), ", "))
	}
}

// write predicts all rows to the file or to stdout. What goes to stdout waits in a
// temporary file until the last row is done, so that a bad one leaves nothing
// half written.
func (c *predictCommand) write(ctx context.Context, stdout io.Writer, in *newRows, p *predict.Predictor) error {
	if c.output != "" {
		// Predictions say what the release says, but beside new rows, which may be
		// private.
		var bad error
		err := writeFile(c.output, private, func(w io.Writer) error {
			bad = predictRows(ctx, w, in, p)
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
	if err := predictRows(ctx, spool, in, p); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(stdout, spool)
	return err
}

// batchRows is the number of rows that are predicted at a time, and so all that are
// in memory.
const batchRows = 1024

// batch are rows on their way from one file to the other.
type batch struct {
	rows []predictedRow
	size int
}

type predictedRow struct {
	line   int
	fields []string
	x      []float64
	law    predict.Prediction
	err    error
}

// predictRows copies rows and adds the predictions.
func predictRows(ctx context.Context, w io.Writer, in *newRows, p *predict.Predictor) error {
	out := csvfile.NewWriter(w)
	if err := out.Write(append(slices.Clone(in.header), predicted...)); err != nil {
		return err
	}
	b, last := batch{rows: make([]predictedRow, batchRows)}, table.Row{}
	for row, err := range in.rows {
		if err != nil {
			return usage(err)
		}
		last = row
		next := &b.rows[b.size]
		next.line, next.fields, next.x = row.Line, append(next.fields[:0], row.Fields...), append(next.x[:0], row.Values...)
		if b.size++; b.size == batchRows {
			if err := b.flush(ctx, out, in.name, p); err != nil {
				return err
			}
		}
	}
	if err := b.flush(ctx, out, in.name, p); err != nil {
		return err
	}
	in.warning = last.Warning()
	out.Flush()
	return out.Error()
}

// flush predicts the rows of the batch, on all processors, and writes them in order.
func (b *batch) flush(ctx context.Context, out *csvfile.Writer, name string, p *predict.Predictor) error {
	rows := b.rows[:b.size]
	b.size = 0
	err := parallel.Each(ctx, 0, len(rows), nil, func(_ context.Context, i int) error {
		rows[i].law, rows[i].err = p.Predict(rows[i].x)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].err != nil {
			return usage(&table.Error{File: name, Line: rows[i].line, Err: rows[i].err})
		}
		if err := out.Write(append(rows[i].fields, cells(rows[i].law)...)); err != nil {
			return err
		}
	}
	return nil
}

// cells are in the order of predicted; R and Excel read TRUE and FALSE.
func cells(law predict.Prediction) []string {
	var text []string
	for _, v := range []float64{law.Fitted, law.SD, law.Lower, law.Upper} {
		text = append(text, strconv.FormatFloat(v, 'g', -1, 64))
	}
	if law.Outside {
		return append(text, "TRUE")
	}
	return append(text, "FALSE")
}
