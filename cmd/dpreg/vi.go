package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/table"
	"github.com/dpreg/dpreg/vi"
)

const viHelp = `Fit a model to rows by variational inference under differential privacy.

The posterior is approximated by normal laws, which stochastic gradients find. Each
row's gradient is clipped to a norm, and a batch's sum gets noise from the operating
system's randomness, so that all steps together are (ε, δ)-differentially private
(docs/vi.md has the proof). For linear regression, dpreg fit is the better way: its
intervals account for the noise, and those of this command do not.

Each column needs public bounds, or levels (see dpreg schema); numbers are scaled to
[-1, 1]. The response of --model logistic has two levels, the second of which is
modelled, is boolean, or is a number with bounds 0:1; one between them, such as a missing
cell's midpoint, counts as that share of a 1 and the rest of a 0.

Every run spends ε anew: what is to be kept, keep with --save. With --ledger it is
charged before the first step. The draws are from the fitted law and independent; R-hat
and effective sizes say nothing of the fit.`

func newVI() *cobra.Command {
	var f viFlags
	cmd := &cobra.Command{
		Use:   "vi --eps NUMBER --delta NUMBER DATA.csv",
		Short: "Variational inference on rows: logistic and other models; spends ε",
		Long:  viHelp,
		Example: `  dpreg vi --model logistic --eps 1 --delta 1e-5 --formula 'income ~ .' adult.csv
  dpreg vi --model linear --eps 1 --delta 1e-6 --steps 1000 --batch 500 pums.csv
  dpreg vi --model hierarchical --group state --eps 2 --delta 1e-6 people.csv`,
		Args: oneFile("a data file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	f.register(cmd)
	return cmd
}

func (f *viFlags) run(ctx context.Context, stdout, stderr io.Writer, data string) (err error) {
	o, err := f.options()
	if err != nil {
		return err
	}
	cells, err := f.cells(!f.nonPrivate)
	if err != nil {
		return err
	}
	design, err := f.viDesign(stderr, data)
	if err != nil {
		return err
	}
	if err := f.checkOutputs(data); err != nil {
		return err
	}
	if o.Privacy != nil {
		o.Clip = f.clippingNorm(design)
		note(stderr, "gradients are clipped to a norm of %.4g", o.Clip)
	}
	rows, group, err := f.read(stderr, data, design, cells)
	if err != nil {
		return err
	}
	public := f.releaseFlags.rows
	if f.neighbours == string(release.ReplaceOne) {
		if public = int64(len(rows.Y)); public == 0 {
			return usagef("%s has no rows to fit", f.source.Name)
		}
	}
	paid, err := f.plan(ctx, stderr, &o, public, data)
	if err != nil {
		return err
	}
	defer func() { paid.Finish(ctx, err == nil) }()
	if err := paid.Pay(ctx); err != nil {
		return err
	}
	fit, err := f.fit(ctx, stderr, design, rows, group, o)
	if err != nil {
		return err
	}
	return f.conclude(stdout, stderr, &viResult{fit: fit, design: design, flags: f, method: "vi-" + f.model, n: public})
}

// plan completes options by the public number of records, 0 where there is none, and says
// what the run is to be charged.
func (f *viFlags) plan(ctx context.Context, stderr io.Writer, o *vi.Options, records int64, data string) (*custody.Payment, error) {
	if err := f.size(o, records); err != nil {
		return nil, err
	}
	training, err := o.Plan(float64(records))
	if err != nil || o.Privacy == nil {
		return nil, usage(err)
	}
	o.Privacy.Multiplier = training.Multiplier
	if f.ledger == "" {
		return nil, nil
	}
	name := f.save
	if name == "" {
		name = data
	}
	cost, err := runCharge(&f.releaseFlags, name, training)
	if err != nil {
		return nil, err
	}
	return custody.NewPayment(ctx, sayTo(stderr), f.ledger, cost)
}

// read reads the rows, which must not change meanwhile.
func (f *viFlags) read(stderr io.Writer, data string, d *viDesign, cells table.Options) (rows *vi.Rows, group []int, err error) {
	noteMissing(stderr, cells)
	err = filesOf(stderr, f.source).Read(sayTo(stderr), func() error {
		rows, group, err = d.read(f.source, cells)
		return err
	})
	return rows, group, err
}

// fit runs, with a bar.
func (f *viFlags) fit(ctx context.Context, stderr io.Writer, d *viDesign, rows *vi.Rows, group []int, o vi.Options) (*vi.Fit, error) {
	bar := countingBar(stderr, "climbing ", o.Steps)
	o.Progress = func(done int) {
		if done%64 == 0 {
			bar.update(done, 0)
		}
	}
	fit, err := vi.Run(ctx, f.of(d, rows, group), o)
	bar.finish()
	switch {
	case err == nil:
		return fit, nil
	case fit == nil:
		return nil, usage(err)
	case fit.Privacy != nil:
		if spent, e := fit.Spent(); e == nil {
			note(stderr, "interrupted after %d of %d steps, and nothing is shown or kept of them; had anybody seen them, they would have spent ε = %.3g", fit.Training.Steps, o.Steps, spent)
		}
	}
	return nil, err
}

// clippingNorm is --clip, or what is public about rows. A row's gradient is its slope times
// the row, and a slope of logistic regression is at most 1: no gradient is longer than the
// longest row, and none is clipped. Half of it cuts off the rows that the model foresees
// least, and moves slopes by a tenth, at any ε. A slope of linear regression has no bound: it is a
// residual over its standard deviation, seldom above 3.
func (f *viFlags) clippingNorm(d *viDesign) float64 {
	switch {
	case f.clip > 0:
		return f.clip
	case d.binary:
		return d.longest()
	}
	return 3 * d.longest()
}

// of is the model of the rows.
func (f *viFlags) of(d *viDesign, rows *vi.Rows, group []int) vi.Model {
	switch f.model {
	case viLinear:
		const shape, scale = 2, 0.1 // σ² about a tenth of the response's half range, squared
		return vi.LinearRegression(rows, f.priorSD, shape, scale)
	case viHierarchical:
		descriptors := make([]float64, d.groups)
		for l := range descriptors {
			descriptors[l] = 1
		}
		return vi.Hierarchical(rows, group, descriptors, 1, f.priorSD)
	}
	return vi.Logistic(rows, f.priorSD)
}
