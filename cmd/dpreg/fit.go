package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

func runFit(f *flags, args []string) error {
	if err := errors.Join(f.checkFit(), f.checkSharing(max(1, f.split))); err != nil {
		return err
	}
	if f.split > 0 && !f.given("pooling") {
		f.pooling = dpreg.PartialPooling
	}
	d := &dataset{flags: f}
	if f.method == nonPrivate {
		return d.fitNonPrivate(args)
	}
	if f.holdsData {
		return usagef("--i-hold-the-data is for --method %s, which was not asked for", nonPrivate)
	}
	data, err := d.locate(args, f.release)
	if err != nil {
		return err
	}
	defer d.close()
	if f.looks == "auto" && dpreg.Traits(f.method).Covariates.Known() { // of sums in the box
		f.looks = "1"
	}
	family := model.Family(f.family)
	order, err := d.order(data, f.release)
	if err != nil {
		return err
	}
	if err := family.Check(order.Inferred()); err != nil {
		return usage(err)
	}
	// Whatever inference would refuse is refused before ε is spent.
	keep := inputs{data, order.Path, sidecar(data), f.schema, order.Ledger}
	o, err := f.options(order.Inferred(), "", keep)
	if err != nil {
		return err
	}
	order.Check = func(rows int64) error {
		n := rows
		if order.Privacy.Neighbours == release.AddRemove {
			n = manyRows
		}
		parts := int64(max(1, order.Split))
		alike := slices.Repeat(dpreg.One(plan.StandIn(n/parts, order, family)), int(parts))
		if err := dpreg.Can(alike, o); err != nil {
			return usage(err)
		}
		f.foretell(order, rows)
		return nil
	}
	made, err := f.reuse(order)
	if err != nil {
		return err
	}
	if made != nil {
		err = order.Charged(f.ctx(), made[0])
	} else {
		f.noteMissing(order.Cells)
		made, err = order.PublishParts(f.ctx())
	}
	if err != nil {
		return err
	}
	e, err := evidenceOf(order, made)
	if err != nil {
		return err
	}
	// It repeats the inference at no cost.
	repeat := strings.TrimSpace("dpreg infer " + whereOf(order) + " " + files.Line(givenFlags(f.cmd)...))
	err = f.infer(e, keep, repeat)
	if err != nil && f.ctx().Err() != nil {
		f.note("the release in %s is complete: the same command again uses it at no further cost", order.Path)
	}
	if err == nil && f.format == "table" && family == model.Normal && order.Inferred() == order.Model() {
		f.note("next, at no further cost: dpreg infer %s --formula %s", whereOf(order), files.Quoted(another(&made[0].Schema, made[0].Levels.Dummies())))
	}
	return err
}

// takeCells has fit order sums by the cells of covariates that are categories alone, where inference has their law.
func (d *dataset) takeCells(o *custody.Order) {
	open := d.cmd.Name() == "fit" && d.looks == "auto" && d.method == dpreg.Auto && !d.clamping
	if by := o.ByCells(); open && by != nil {
		*o = *by
		d.note("the covariates are categories alone: sums are by their levels (--by-level %s)", files.Quoted(o.ByLevel))
	}
}

// another is a model to try next: the first column alone, or the factor by whose levels sums are, or, where it is, the
// regression the other way round.
func another(d *schema.Design, dummies int) string {
	next := *d
	if next.Covariates = d.Covariates[:max(1, dummies)]; len(d.Covariates) == 1 && d.Covariates[0].Factor == "" {
		next.Response, next.Covariates = d.Covariates[0], []schema.Column{d.Response}
	}
	return next.Formula().String()
}

// reuse gives the release that a former run left, if it is the one ordered; nil
// where there is none, or where it is to be overwritten.
func (f *flags) reuse(o *custody.Settled) ([]*release.Release, error) {
	formers, err := o.Formers()
	if formers == nil || o.SpendAgain {
		return nil, err
	}
	stale, err := o.Stale()
	if err != nil {
		return nil, err
	}
	const otherwise = " A new one would spend ε again.\n" +
		"  At no further cost:  dpreg infer %s\n" +
		"  To spend ε again:    --release FILE keeps both, --spend-again overwrites the old one"
	former, word := formers[0], whereOf(o)
	if stale != "" {
		return nil, refusef("%s, so the release may not be of these data."+otherwise, stale, word)
	}
	if err := o.Differs(former); err != nil {
		if formula := o.Selects(former); formula != "" {
			return nil, refusef("%s is a release of another model (%w), but it answers this one at no further cost: dpreg infer %s --formula %s",
				o.Path, err, word, files.Quoted(formula))
		}
		return nil, refusef("%s holds another release: %w."+otherwise, o.Path, err, word)
	}
	f.note("%s is a release of these columns with %s: it is used again, at no further cost", o.Path, custody.Describe(*former.Privacy))
	return formers, nil
}

// fitNonPrivate is the study of what the noise costs: no release, no privacy.
func (d *dataset) fitNonPrivate(args []string) error {
	const apart = "cannot be combined with --method " + nonPrivate + ", which makes no release and is not private"
	if err := d.refuseGiven("eps delta mechanism steps release spend-again with-moments by-level per-level ledger no-ledger rows person person-rows", "--%s "+apart); err != nil {
		return err
	}
	if !d.holdsData {
		return refusef("method %s prints what the rows say, without noise: nothing of it is private. If you may see the rows and keep the output to yourself, say --i-hold-the-data", nonPrivate)
	}
	cells, err := d.cells(false)
	if err != nil {
		return err
	}
	if err := d.refuseAuto(apart); err != nil {
		return err
	}
	data, err := d.locate(args, "")
	if err != nil {
		return err
	}
	defer d.close()
	design, _, err := d.design(data)
	if err != nil {
		return err
	}
	o, err := d.options(design, "", inputs{data, sidecar(data), d.schema})
	if err != nil {
		return err
	}
	d.noteMissing(cells)
	sums, err := custody.Exact(d.ctx(), custody.Order{Rows: d.rowsOf(), Cells: cells, Design: design, Say: d.say})
	if err != nil {
		return err
	}
	fit, err := dpreg.NonPrivate(d.ctx(), sums, design, o)
	if err != nil {
		return usage(err)
	}
	d.note("this output is NOT private: it was computed from the rows, without noise")
	made, err := d.made(nil)
	if err != nil {
		return err
	}
	return d.conclude(fit, nil, made)
}

// manyRows stands for a number of rows that is not public: enough for any design.
const manyRows = 1_000_000

// foretell says, before ε is spent, what of the slopes will hardly be told.
func (f *flags) foretell(o *custody.Settled, rows int64) {
	for _, warning := range plan.Foretell(o, rows) {
		note(f.stderr(), "warning: %s", warning)
	}
}
