package main

import (
	"io"
	"math"
	"strconv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

func runFit(f *flags, args []string) error {
	if err := f.checkFit(); err != nil {
		return err
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
	if f.looks == "auto" && family != model.Normal {
		f.looks = "1"
		f.note("one look (--steps 1): from the second on rows, the response among them, are moved to an ellipsoid's surface, and --family %s needs the response as it is", family)
	}
	order, err := d.order(data, f.release)
	if err != nil {
		return err
	}
	if err := family.Check(order.Design); err != nil {
		return usage(err)
	}
	// Whatever inference would refuse is refused before ε is spent.
	keep := inputs{data, order.Path, sidecar(data), f.schema, order.Ledger}
	o, err := f.options(order.Design, "", keep)
	if err != nil {
		return err
	}
	order.Check = func(rows int64) error {
		n := rows
		if order.Privacy.Neighbours == release.AddRemove {
			n = manyRows
		}
		if err := dpreg.Can(oneRelease(order.Path, standIn(n, order, family)).custodians, o); err != nil {
			return usage(err)
		}
		foretell(f.stderr(), order, rows)
		return nil
	}
	r, err := f.reuse(order)
	if err != nil {
		return err
	}
	if r != nil {
		err = order.Charged(f.ctx(), r)
	} else {
		f.noteMissing(order.Cells)
		r, err = order.Publish(f.ctx())
	}
	if err != nil {
		return err
	}
	// It repeats the inference at no cost.
	repeat := shellLine(append([]string{"dpreg", "infer", order.Path}, givenFlags(f.cmd)...))
	err = f.infer(oneRelease(order.Path, r), keep, repeat)
	if err != nil && f.ctx().Err() != nil {
		f.note("the release in %s is complete: the same command again uses it at no further cost", order.Path)
	}
	if err == nil && f.format == "table" && family == model.Normal {
		f.note("next, at no further cost: dpreg infer %s --formula %s", files.Quoted(order.Path), files.Quoted(another(order.Design)))
	}
	return err
}

// another is a model to try next: the first column alone or, where it is, the regression the
// other way round.
func another(d *schema.Design) string {
	next := *d
	if next.Covariates = d.Covariates[:1]; len(d.Covariates) == 1 && d.Covariates[0].Factor == "" {
		next.Response, next.Covariates = d.Covariates[0], []schema.Column{d.Response}
	}
	return next.Formula().String()
}

// reuse gives the release that a former run left, if it is the one ordered; nil
// where there is none, or where it is to be overwritten.
func (f *flags) reuse(o *custody.Settled) (*release.Release, error) {
	former, err := o.Former()
	if former == nil || o.SpendAgain {
		return nil, err
	}
	stale, err := o.Stale()
	if err != nil {
		return nil, err
	}
	const otherwise = " A new one would spend ε again.\n" +
		"  At no further cost:  dpreg infer %s\n" +
		"  To spend ε again:    --release FILE keeps both, --spend-again overwrites the old one"
	word := files.Quoted(o.Path)
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
	return former, nil
}

// fitNonPrivate is the study of what the noise costs: no release, no privacy.
func (d *dataset) fitNonPrivate(args []string) error {
	const apart = "cannot be combined with --method " + nonPrivate + ", which makes no release and is not private"
	if err := d.refuseGiven("eps delta mechanism steps release spend-again with-moments by-level ledger no-ledger rows person person-rows", "--%s "+apart); err != nil {
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

// standIn is a release of n rows as ordered, that tells nothing of any data, so
// that inference can be rehearsed before ε is spent: rows as if uniform on the
// box, linear sums 0 and squares n/3 in scaled units.
func standIn(n int64, o *custody.Settled, family model.Family) *release.Release {
	m := len(o.Design.Columns())
	v := make([]float64, release.Length(m))
	for j := range m {
		v[release.Index(m, j, j)] = float64(n) / 3
	}
	if family != model.Normal { // of squares 1
		v[len(v)-1] = float64(n)
	}
	r := &release.Release{
		Format:     release.Format,
		Simulated:  true,
		Schema:     *o.Design,
		N:          n,
		Noise:      release.Noise{Kind: o.Mechanism, Scale: 1},
		Statistics: release.StatisticsFromVector(m, v),
	}
	if o.Frame != nil {
		r.Format, r.Frame = release.FormatFrame, o.Frame
		r.Noise.Cross, r.Noise.Linear, r.Noise.Freedom = o.Noise.Cross/o.Noise.Scale, o.Noise.Linear/o.Noise.Scale, o.Noise.Freedom
	}
	if o.Privacy.Neighbours == release.AddRemove {
		r.Privacy, r.NNoise = &o.Privacy, 1
	}
	if o.Persons.Rule.Kind == persons.Mean { // the others leave rows as they are
		r.Privacy, r.Persons = &o.Privacy, &release.Persons{Rows: release.PersonMean}
	}
	if o.WithMoments {
		r.Moments = standInMoments(n, m-1, o.Mechanism)
	}
	return r
}

// standInMoments are those of rows uniform on the box, as good as without noise:
// nothing is to be refused for it.
func standInMoments(n int64, p int, noise release.Kind) *release.Moments {
	x := &release.Moments{Noise: release.Noise{Kind: noise, Scale: 1e-9}, Exponents: release.MomentExponents(p, 1)}
	for _, e := range x.Exponents {
		sum := float64(n)
		for _, k := range e {
			if k%2 == 1 {
				sum = 0
			}
			sum /= float64(k + 1)
		}
		x.Sums = append(x.Sums, sum)
	}
	return x
}

// nothingTold is half of the interval of a standardised slope, between -1 and 1, from which on
// a release tells next to nothing of it; enoughTold is one of which is said what it would take, if
// no ε above largeEpsilon, which would hardly protect anybody.
const (
	nothingTold  = 1.0
	enoughTold   = 0.5
	largeEpsilon = 10
)

// foretell says, before ε is spent, where next to nothing is to be told of the slopes, and what
// would help. It knows what is public: the columns' number, the noise, and how many rows
// there are, if that is public or was stated. Of several steps it says nothing: their noise is
// not known before.
func foretell(stderr io.Writer, o *custody.Settled, rows int64) {
	width := halfWidth(o, o.Design)
	if rows == 0 || width == nil || o.Steps > 1 || len(o.Design.Covariates) == 0 {
		return
	}
	n, epsilon := float64(rows), o.Privacy.Epsilon
	if width(n, epsilon) < nothingTold {
		return
	}
	help := wants(width, n, epsilon)
	if len(o.Design.Covariates) > 1 {
		one := *o.Design
		one.Covariates = one.Covariates[:1]
		help += "; with one covariate " + wants(halfWidth(o, &one), n, epsilon)
	}
	note(stderr, "warning: next to nothing will be told of the slopes: the 95 %% interval of a standardised slope, which lies between -1 and 1, would be ± %v or wider (`dpreg plan` simulates it). For ± %v it takes %s",
		nothingTold, enoughTold, help)
}

// halfWidth gives half of a standardised slope's interval as a function of rows and ε; nil
// where nothing can be assumed of the columns.
func halfWidth(o *custody.Settled, d *schema.Design) func(rows, epsilon float64) float64 {
	outlook, err := plan.NewOutlook(d)
	if err != nil {
		return nil
	}
	return func(rows, epsilon float64) float64 {
		noise, err := o.NoiseAt(d, epsilon)
		if err != nil {
			return 0 // it is not for this to say
		}
		return outlook.HalfWidth(rows, noise)
	}
}

// wants says how many rows, or which ε that still protects, it takes for enough to be told.
func wants(width func(rows, epsilon float64) float64, rows, epsilon float64) string {
	text := "more than a billion rows"
	if n := least(rows, func(n float64) bool { return width(n, epsilon) <= enoughTold }); n <= 1e9 {
		text = rounded(n) + " rows or so"
	}
	text += " at this ε"
	if enough := func(e float64) bool { return width(rows, e) <= enoughTold }; enough(largeEpsilon) {
		text += ", or ε = " + rounded(least(epsilon, enough))
	}
	return text
}

// least bisects, to about a tenth, for the least number above low that is enough, if there
// can be as many rows.
func least(low float64, enough func(float64) bool) float64 {
	high := 2 * low
	for high < ssp.MaxRows && !enough(high) {
		low, high = high, 2*high
	}
	for high > 1.1*low {
		if middle := math.Sqrt(low * high); enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// rounded keeps two digits.
func rounded(x float64) string {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64)
	return strconv.FormatFloat(short, 'f', -1, 64)
}
